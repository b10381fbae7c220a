"""The training of `scripts/hf_trainer.py`, written by our callback."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer, TrainingArguments, set_seed

import fanal
from fanal.tracker.huggingface import FanalCallback

set_seed(0)
model = GPT2LMHeadModel(
    GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=16, n_positions=8, bos_token_id=0, eos_token_id=1)
)
rows = torch.arange(16 * 8).reshape(16, 8) % 16
dataset = [{"input_ids": row, "labels": row} for row in rows]
args = TrainingArguments(
    output_dir="out",
    run_name="tiny-gpt2",
    max_steps=6,
    per_device_train_batch_size=4,
    logging_steps=2,
    eval_strategy="steps",
    eval_steps=3,
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
    report_to="none",
    seed=0,
)
trainer = Trainer(
    model=model,
    args=args,
    train_dataset=dataset,
    eval_dataset=dataset[:4],
    callbacks=[FanalCallback(project="huggingface")],
)
trainer.remove_callback(PrinterCallback)
trainer.train()
trainer.predict(dataset[:4])
fanal.finish()
