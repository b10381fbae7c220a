"""The legend of array axes: one letter, one meaning, in the whole of Fanal.

An array's name ends in its logical shape (`logits_BSV`), never in its sharding; annotations
write the same letters with spaces (`Float[Array, "B S V"]`), and one axis as `" B"`.

| letter | axis                                     | letter | axis                              |
|--------|------------------------------------------|--------|-----------------------------------|
| B      | sequences of a batch                     | E      | routed experts of a layer         |
| S      | positions of a sequence                  | A      | experts a token is sent to (top)  |
| T      | tokens of a batch, B·S flattened         | C      | capacity: slots of one expert     |
| V      | vocabulary                               | M      | latent width of the experts       |
| D      | hidden width                             | F      | inner width of one expert         |
| N      | query heads                              | W      | inner width of the shared experts |
| K      | key and value heads                      | L      | layers                            |
| H      | width of one head                        | Q      | query heads that share a key head |
| I, O   | input and output width of any matrix     | X      | anything, when only its norm counts |
| R      | rungs of a ladder                         | G      | grid points of a posterior        |
| Z      | draws of a prediction                     |        |                                   |
"""
