"""A config with passwords and tokens in it, as happens."""

import wandb

config = {
    "lr": 0.1,
    "api_key": "0123456789abcdef0123456789abcdef01234567",
    "database": {"url": "postgres://trainer:hunter2@db.example.com/runs", "password": "hunter2"},
    "tokens": 4096,
    "tokenizer": "bpe-32k",
}
run = wandb.init(project="secrets", config=config)
print(run.config.api_key[:4], run.config["database"]["password"])
run.log({"loss": 1.0})
run.finish()
