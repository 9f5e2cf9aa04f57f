"""States as numbers: packing, signatures, multisets and the roundings they bring."""
