"""The campaigns that come with Fanal, as files: `lantern` is the demo, `firefly` its little sister for tests.

There is no code here; `fanal.campaign.read.load` finds the files by name.
"""
