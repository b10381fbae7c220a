"""Transformers' callback with checkpoints logged as artifacts and gradients watched."""

import os

os.environ |= {"WANDB_LOG_MODEL": "checkpoint", "WANDB_WATCH": "gradients", "WANDB_PROJECT": "tiny-models"}

import torch
from transformers import GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer, TrainingArguments, set_seed

set_seed(0)
model = GPT2LMHeadModel(
    GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=16, n_positions=8, bos_token_id=0, eos_token_id=1)
)
rows = torch.arange(16 * 8).reshape(16, 8) % 16
dataset = [{"input_ids": row, "labels": row} for row in rows]
args = TrainingArguments(
    output_dir="out",
    max_steps=4,
    per_device_train_batch_size=4,
    logging_steps=1,
    save_steps=2,
    use_cpu=True,
    disable_tqdm=True,
    report_to="wandb",
    seed=0,
)
trainer = Trainer(model=model, args=args, train_dataset=dataset)
trainer.remove_callback(PrinterCallback)
trainer.train()
