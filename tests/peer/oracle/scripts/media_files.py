"""Media from files: sound, a moving picture, points in space, a molecule."""

import wave
from pathlib import Path

import numpy as np
import wandb
from PIL import Image

with wave.open("tone.wav", "wb") as sound:
    sound.setnchannels(1)
    sound.setsampwidth(2)
    sound.setframerate(8000)
    sound.writeframes(bytes(1600))
frames = [Image.new("L", (8, 8), shade) for shade in (0, 128, 255)]
frames[0].save("fade.gif", save_all=True, append_images=frames[1:])
Path("water.pdb").write_text("HETATM    1  O   HOH A   1       0.000   0.000   0.000\nEND\n", "utf-8")

run = wandb.init(project="media")
run.log({"sound": wandb.Audio("tone.wav", caption="silence"), "loss": 1.0})
run.log({"film": wandb.Video("fade.gif", format="gif")})
run.log({"points": wandb.Object3D(np.arange(12.0).reshape(4, 3))})
run.log({"water": wandb.Molecule("water.pdb")})
run.finish()
