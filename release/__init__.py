"""What a release consists of: wheel, sdist, bill of materials, checksums; not part of the wheel."""
