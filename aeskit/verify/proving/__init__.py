"""Proofs over GF(2): of one length, and of every length."""
