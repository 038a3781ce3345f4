"""What the chapters of Part V measure on random settings."""
