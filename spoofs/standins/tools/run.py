"""The interpreter's side of a stand-in tool: print what the machine's tool prints."""

import os
import sys

here = os.path.realpath(__file__)
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(here)))))

from spoofs import tools  # noqa: E402

sys.exit(tools.main(sys.argv[1:]))
