"""The commands that take a trained model, or a part of one."""

from hedgerow.commands.answer import answer
from hedgerow.commands.bag import bag, share
from hedgerow.commands.disclose import disclose
from hedgerow.commands.evaluate import evaluate
from hedgerow.commands.explain import explain
from hedgerow.commands.predict import predict
from hedgerow.commands.report import report
from hedgerow.commands.serve import serve
from hedgerow.commands.show import show
from hedgerow.commands.watch import watch

MODEL_COMMANDS = (predict, answer, serve, evaluate, show, explain, report, watch, disclose, share, bag)
