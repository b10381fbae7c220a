"""Keys of all alphabets, with spaces, quotes and signs; an empty one; a very long one."""

import wandb

run = wandb.init(project="keys")
run.log({"损失": 1.0, "потеря/обучение": 2.0, "père": 3.0, "🦊": 4.0})
run.log({"with space": 1, 'quote"d': 2, "back\\slash": 3, "a:b;c": 4, "__proto__": 5, "../../x": 6})
run.log({"": 7, "k" * 300: 8, "tab\tkey": 9})
run.log({"_private": 1, "_step_like": 2})
run.finish()
