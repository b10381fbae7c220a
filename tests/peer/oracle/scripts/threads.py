"""Three threads log to one run, each its own key, in turn."""

import threading

import wandb

run = wandb.init(project="threads")
turns = [threading.Semaphore(int(n == 0)) for n in range(3)]


def work(number: int) -> None:
    for i in range(20):
        turns[number].acquire()
        run.log({f"t{number}/value": i})
        turns[(number + 1) % 3].release()


threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(run.step)
run.finish()
