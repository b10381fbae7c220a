"""What makes the record provable: tree, signed roots, manifest, verification, redaction, anchors."""
