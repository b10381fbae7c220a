"""Two forked workers, each with a run of its own in one group, as data-parallel scripts have it."""

import multiprocessing

import wandb


def work(rank: int) -> None:
    run = wandb.init(project="ddp", group="job-1", job_type="worker", name=f"rank-{rank}", config={"rank": rank})
    for i in range(5):
        run.log({"loss": rank + i / 10})
    run.finish()


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    for rank in range(2):
        process = context.Process(target=work, args=(rank,))
        process.start()
        process.join()
        print(rank, process.exitcode)
