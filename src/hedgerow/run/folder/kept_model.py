"""The model that a driver has a party keep: checked, and written when it comes, to outlast this process."""

from hedgerow.model import file as models
from hedgerow.model import part as parts
from hedgerow.run.folder.folder import PART, RunFolder


class KeptModel:
    """A party's copy of the model, or its part of a vertical one; `content` is what came, maybe to a process before."""

    def __init__(self, folder: RunFolder, file: str) -> None:
        self.folder, self.file, self.path = folder, file, folder.path / file
        self.content = self.path.read_bytes() if self.path.exists() else None

    def keep(self, content: bytes) -> None:
        """Write what the driver sent; refuses what is no model."""
        check = parts.decoded if self.file == PART else models.decoded
        check(content, "What the driver had this party keep")
        self.folder.write(self.file, content)
        self.content = content
