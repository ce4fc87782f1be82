"""What the bridge tells its user: refusals that say what to do, and the user's own traceback without the frames of others."""
import pathlib
import re
import traceback

SHOWN_FRAMES = 8
SHOWN_LINES = 12  # of a message: its first and last ones
MAX_TEXT = 600
OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|cannot allocate memory", re.IGNORECASE)


class Refusal(Exception):
    """What the user can mend; the message says how."""


def first_line(error):
    """One line that names the error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "..."


def whole_message(error):
    """All lines of a message that has several, with what was added to it and what it came of; empty: one line says it all."""
    if isinstance(error, SyntaxError):
        return "".join(traceback.format_exception_only(type(error), error)).rstrip()
    lines = [line.rstrip() for line in "".join(traceback.format_exception_only(type(error), error)).splitlines()]
    lines = [line for line in lines if line]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        lines.append(f"after {first_line(cause)}")
    if len(lines) < 2:
        return ""
    if len(lines) > SHOWN_LINES:
        half = SHOWN_LINES // 2
        lines = [*lines[:half], f"... ({len(lines) - SHOWN_LINES} lines)", *lines[-half:]]
    return "\n".join(line if len(line) <= MAX_TEXT else line[:MAX_TEXT] + "..." for line in lines)


def is_out_of_memory(error):
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(OUT_OF_MEMORY.search(str(error))))


def user_frames(error):
    """The frames of the traceback that are neither the bridge's nor PyTorch's; all of them where no other is left."""
    here = str(pathlib.Path(__file__).parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith((here, "<frozen"))]
    own = [frame for frame in frames if "/torch/" not in frame.filename]
    return own or frames


def describe(error):
    """{"error": one line with the place, "traceback": the user's frames and the lines of the message} of what the model raised."""
    if isinstance(error, SyntaxError):
        return {"error": f"{error.filename}:{error.lineno}: {first_line(error)}", "traceback": whole_message(error)}
    frames = user_frames(error)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return {"error": first_line(error) + place,
            "traceback": "\n".join(filter(None, ["".join(traceback.format_list(frames[-SHOWN_FRAMES:])).rstrip(),
                                                 whole_message(error)]))}
