"""Chapter 12: a message folds into bytes in one place and unfolds in another.

python examples/ch12_messages.py
"""

import tempfile

import torch

from minisgl.core import SamplingParams
from minisgl.message import BaseBackendMsg, UserMsg
from minisgl.message.utils import serialize_type
from minisgl.utils.mp import ZmqPullQueue, ZmqPushQueue


def main() -> None:
    msg = UserMsg(7, torch.tensor([1, 2, 3], dtype=torch.int32), SamplingParams(max_tokens=4))
    print("buffer", len(serialize_type(msg.input_ids)["buffer"]), "bytes")

    with tempfile.TemporaryDirectory() as folder:
        address = f"ipc://{folder}/queue"
        pull = ZmqPullQueue(address, create=True, decoder=BaseBackendMsg.decoder)
        push = ZmqPushQueue(address, create=False, encoder=BaseBackendMsg.encoder)
        push.put(msg)
        received = pull.get()
        same = (
            isinstance(received, UserMsg)
            and received.uid == msg.uid
            and torch.equal(received.input_ids, msg.input_ids)
            and received.sampling_params == msg.sampling_params
        )
        print("round trip equal:", same)
        push.stop()
        pull.stop()

    try:
        BaseBackendMsg.decoder({"__type__": "print", "text": "hello"})
    except ValueError as error:
        print("unknown type: ValueError:", error)


if __name__ == "__main__":
    main()
