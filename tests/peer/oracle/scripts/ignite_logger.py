"""PyTorch-Ignite's WandBLogger on a trainer and an evaluator."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers.wandb_logger import WandBLogger, global_step_from_engine
from ignite.metrics import Loss

torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.MSELoss()
x = torch.linspace(-1, 1, 48).reshape(4, 4, 3)
batches = [(part, part.sum(1, keepdim=True)) for part in x]
trainer = create_supervised_trainer(model, optimizer, criterion)
evaluator = create_supervised_evaluator(model, metrics={"mse": Loss(criterion)})
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda _: evaluator.run(batches))

logger = WandBLogger(project="tiny-ignite", name="ignite", config={"lr": 0.1}, tags=["pytorch-ignite"])
logger.attach_output_handler(
    trainer, event_name=Events.ITERATION_COMPLETED, tag="training", output_transform=lambda loss: {"loss": loss}
)
logger.attach_output_handler(
    evaluator,
    event_name=Events.EPOCH_COMPLETED,
    tag="validation",
    metric_names="all",
    global_step_transform=global_step_from_engine(trainer, Events.ITERATION_COMPLETED),
)
logger.attach_opt_params_handler(trainer, event_name=Events.ITERATION_COMPLETED(every=2), optimizer=optimizer)
logger.watch(model, log="gradients", log_freq=2)
trainer.run(batches, max_epochs=2)
logger.close()
