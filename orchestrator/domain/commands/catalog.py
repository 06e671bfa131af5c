"""The commands that people give a run: one row each, for the command line and for the dashboard.

A row needs nothing but its words, so that the list of verbs is printed without loading a model of a command.
"""

from collections.abc import Mapping

from orchestrator.domain.commands.catalog_entry import CatalogEntry, CommandArgument, CommandOption

REASON = CommandOption("reason", "Why; it is kept, and shown to whoever it concerns.")
_QUESTION = CommandArgument("item", "[QUESTION]", is_required=False)
_QUESTION_HELP = """QUESTION is an id that stays, as q1, or a whole item, as `orchestrate inbox` lists them. It may be
        left out where only one thing is asked, and RUN if the latest run is meant.

        An engine is started if none lives."""

_GOAL_COMMANDS = (
    CatalogEntry(
        "approve",
        do="approve",
        usage="approve [QUESTION]",
        summary="answer yes",
        line="Answer yes to what a run asks; it goes on.",
        help=f"""Answer yes to QUESTION of RUN. {_QUESTION_HELP}

        A plan that waits can be changed first: --edit opens it as TOML in $EDITOR, --plan reads it from a file. It is
        checked as a planner's, and its planner is told what was changed.""",
        examples=(
            "orchestrate approve",
            "orchestrate approve q2",
            'orchestrate approve 7f3a q2 --reason "looked at it"',
            "orchestrate approve 7f3a q1 --edit",
        ),
        target="question-to-approve",
        argument=_QUESTION,
        options=(
            REASON,
            CommandOption("edit", "Change the plan that waits in your editor first.", kind="flag", is_in_palette=False),
            CommandOption("plan", "Approve the plan of this file in its place.", "FILE", is_in_palette=False),
        ),
        wake="unless-declined",
    ),
    CatalogEntry(
        "send-back",
        do="send-back",
        usage="send-back [QUESTION] --note TEXT",
        summary="have whoever made it change it first",
        line="Send back what a run asks about, with what is to be changed.",
        help=f"""Send back what QUESTION of RUN is about: a change that waits to land goes to its worker, a plan to its
        planner. They go on in the same conversation, and ask again. {_QUESTION_HELP}""",
        examples=(
            'orchestrate send-back q1 --note "keep the old file format"',
            'orchestrate send-back 7f3a q1 --comment "src/a.py:12=use an exception" --comment "src/a.py:40=why?"',
        ),
        target="question",
        argument=_QUESTION,
        options=(
            CommandOption("note", "What is to be changed."),
            CommandOption(
                *("comment", "What is to be changed in one line; as often as you like.", "PATH:LINE=TEXT", "texts"),
                field="comments",
            ),
        ),
        wake="unless-declined",
    ),
    CatalogEntry(
        "reject",
        do="reject",
        usage="reject [QUESTION] --reason TEXT",
        summary="answer no; the reason goes to whoever asked",
        line="Answer no to what a run asks; it goes on without.",
        help=f"""Answer no to QUESTION of RUN. A task whose change may not land ends; the reason is kept, and goes to
        its worker if the task is tried again. {_QUESTION_HELP}""",
        examples=('orchestrate reject 7f3a q1 --reason "leave the parser alone"',),
        target="question",
        argument=_QUESTION,
        options=(REASON,),
        wake="unless-declined",
    ),
    CatalogEntry(
        "pause",
        do="pause",
        usage="pause",
        summary="stop at the next model call or file",
        line="Stop a run at its next model call.",
        help="Stop RUN at its next model call or file; nothing begins before `orchestrate continue`.",
        examples=('orchestrate pause latest --reason "the provider is slow today"',),
        options=(REASON,),
    ),
    CatalogEntry(
        "continue",
        do="continue",
        usage="continue",
        summary="go on after a pause or a stop",
        line="Go on with a run that was paused.",
        help="Go on with RUN after a pause, in the background; also with one that was stopped, as `resume` does.",
        examples=("orchestrate continue latest",),
        wake="always",
    ),
    CatalogEntry(
        "retry",
        do="retry",
        usage="retry TASK|FILE [--note TEXT]",
        summary="try again, with a note to the worker",
        line="Have a task tried again, also from an earlier turn.",
        help="""Have TASK tried again, afresh or with the files and the words of an earlier turn; an ended run is
        opened again. `root` of a run whose work could not be judged has it judged again.""",
        examples=(
            'orchestrate retry 7f3a storage/index --note "keep the old file format"',
            "orchestrate retry 7f3a storage/index --from 12",
            "orchestrate retry 7f3a storage/index --grant tests/test_index.py:rewrite",
        ),
        target="task",
        argument=CommandArgument("task"),
        options=(
            CommandOption("note", "What the worker is to know."),
            CommandOption(
                "grant",
                "What it may do besides, as add, rename, move, rewrite, remove or quarantine.",
                "PATH:INTENT",
                kind="texts",
                field="grants",
                is_in_palette=False,
            ),
            CommandOption("from", "Go on from the end of this turn.", "TURN", kind="number", field="turn"),
            CommandOption(
                "attempt", "The attempt whose turn is meant; the latest if not given.", kind="number", minimum=1
            ),
        ),
        wake="unless-declined",
    ),
    CatalogEntry(
        "cancel",
        do="cancel",
        usage="cancel [TASK]",
        summary="give up a task, or the whole run",
        line="Give up a task, or a whole run.",
        help="Give up TASK with all below it, or the whole RUN. What landed stays, and so does every candidate.",
        examples=("orchestrate cancel 7f3a reporting/csv", 'orchestrate cancel 7f3a --reason "another goal came up"'),
        target="subtree",
        argument=CommandArgument("task", is_required=False),
        options=(REASON,),
        wake="always",
    ),
    CatalogEntry(
        "tell",
        do="tell",
        usage="tell TASK TEXT [--now]",
        summary="say something to whoever works on a task",
        line="Say something to the planner or worker of a task.",
        help="""Say TEXT (`-` reads it from standard input) to whoever works on TASK of RUN. It is told before its next
        turn, as your word; where nobody works on TASK yet, in the next attempt's brief. `root` is the planner of the
        whole.""",
        examples=(
            'orchestrate tell latest storage/index "keep the old file format readable"',
            "orchestrate tell 7f3a root - < note.txt",
            'orchestrate tell latest storage/index "stop: that is the wrong file" --now',
        ),
        target="listener",
        argument=CommandArgument("task"),
        words=CommandArgument("note", "TEXT"),
        options=(CommandOption("now", "End the model call or command under way first.", kind="flag", field="is_now"),),
    ),
    CatalogEntry(
        "stop-call",
        do="stop-call",
        usage="stop-call TASK [--reason TEXT]",
        summary="end the one command that an agent waits for",
        line="End the one command that an agent waits for.",
        help="""End the command that the agent at TASK of RUN waits for. The agent is told so, with what it
        printed, and goes on.

        TASK may be a conversation, too, as `logs` names them.""",
        examples=('orchestrate stop-call latest parser --reason "it waits for a server that never comes"',),
        target="call",
        argument=CommandArgument("task"),
        options=(CommandOption("reason", "Why; the agent is told."),),
    ),
)
_CRITERION_COMMANDS = (
    CatalogEntry(
        "criterion add",
        do="add-criterion",
        usage="criterion add TEXT [--must COMMAND]",
        summary="ask for one thing more",
        line="Ask for one thing more.",
        help="Ask RUN for one thing more: TEXT (or `ID: TEXT`), a command, or both.",
        examples=(
            'orchestrate criterion add 7f3a "docs: every new option is explained"',
            'orchestrate criterion add latest --must "python3 tools/check_docs.py"',
        ),
        target="criterion",
        argument=CommandArgument("text", is_required=False),
        options=(CommandOption("must", "What has to exit 0 on the final state.", "COMMAND"),),
        wake="if-ended",
    ),
    CatalogEntry(
        "criterion drop",
        do="drop-criterion",
        usage="criterion drop ID",
        summary="ask for one thing less",
        line="Ask for one thing less.",
        help="Ask RUN no longer for the criterion ID.",
        examples=('orchestrate criterion drop 7f3a docs --reason "the manual is rewritten elsewhere"',),
        target="criterion-id",
        argument=CommandArgument("id", "ID"),
        options=(CommandOption("reason", "Why; it is kept."),),
        wake="if-ended",
    ),
)
_MIGRATION_COMMANDS = (
    CatalogEntry(
        "retry",
        do="retry-files",
        usage="migrate retry FILE",
        summary="let files climb the ladder again",
        line="Let files climb the ladder again.",
        help="Let files of RUN climb the ladder again from its first rung; an ended run is opened again.",
        examples=(
            "orchestrate migrate retry latest --failed",
            'orchestrate migrate retry 7f3a --signature "has no attribute \'exception\'" --note "use .value"',
        ),
        target="failed-files",
        argument=CommandArgument("paths", "[PATH…]", is_required=False, is_many=True),
        options=(
            CommandOption("failed", "All files that failed.", kind="flag"),
            CommandOption("reason", "Failed files with TEXT in their reason.", "TEXT", is_in_palette=False),
            CommandOption("signature", "Failed files with TEXT in their signature.", "TEXT"),
            CommandOption(
                "shard", "Files of SHARD that failed, were left out or taken back.", "SHARD", is_in_palette=False
            ),
            CommandOption("note", "What models on the ladder are to know."),
        ),
        wake="unless-declined",
    ),
    CatalogEntry(
        "skip",
        do="skip-files",
        usage="migrate skip FILE --reason TEXT",
        summary="leave a file out",
        line="Leave files out.",
        help="""Leave files of RUN out. One that a step is at is left out when the step has ended; one that
        landed, never.""",
        examples=('orchestrate migrate skip latest vendor/six.py --reason "copied from upstream"',),
        target="files",
        argument=CommandArgument("paths", "PATH…", is_many=True),
        options=(
            CommandOption("reason", "Why; it is kept, and shown in reports and pull requests.", is_required=True),
        ),
        wake="if-ended",
    ),
    CatalogEntry(
        "hold",
        do="hold-shard",
        usage="migrate hold SHARD",
        summary="keep a shard back",
        line="Keep a shard back.",
        help="Keep SHARD of RUN back: nothing of it begins or lands before it is released.",
        examples=('orchestrate migrate hold latest payments --reason "they release this week"',),
        target="shard",
        argument=CommandArgument("shard"),
        options=(REASON,),
        wake="if-ended",
    ),
    CatalogEntry(
        "release",
        do="release-shard",
        usage="migrate release SHARD",
        summary="let a shard go on that was held",
        line="Let a shard go on that was held.",
        help="Let SHARD of RUN go on that was held.",
        examples=("orchestrate migrate release latest payments",),
        target="shard",
        argument=CommandArgument("shard"),
        wake="unless-declined",
    ),
    CatalogEntry(
        "rollback",
        do="rollback-shards",
        usage="migrate rollback SHARD… | --all",
        summary="take back what shards have landed",
        line="Take back what shards have landed, as far as the rest stays green.",
        help="""Take back what shards of RUN have landed, as far as the rest stays green without it.

        Each is one commit more on the branch, which is tested before it lands; open pull requests are brought up
        to date.""",
        examples=(
            'orchestrate migrate rollback latest payments --reason "slower by a third"',
            "orchestrate migrate rollback 7f3a --all",
        ),
        target="shards",
        argument=CommandArgument("shards", "SHARD…", is_required=False, is_many=True),
        options=(CommandOption("all", "Every shard that has landed.", kind="flag"), REASON),
        wake="unless-declined",
    ),
    CatalogEntry(
        "publish",
        do="publish",
        usage="migrate publish [GROUP…]",
        summary="open the pull requests now",
        line="Open pull requests that wait.",
        help="""Open the pull requests of these groups of RUN (of all, if none is named) now, however many are open.

        Groups are what `group_pr` under [merge] of the recipe makes of the landed shards: their names, owners or
        directories.""",
        examples=("orchestrate migrate publish latest @core",),
        target="groups",
        argument=CommandArgument("groups", "[GROUP…]", is_required=False, is_many=True),
        wake="unless-declined",
    ),
)
_HOST = CommandArgument("host")
_HOST_COMMANDS = (
    CatalogEntry(
        "hosts drain",
        do="drain-host",
        usage="hosts drain HOST",
        summary="have a host leave when nothing is open on it",
        line="Have a host leave when nothing is open on it any more.",
        help="""Open nothing new on HOST of RUN, and have it leave when its last workspace is closed. Nothing that runs
        there is cut off.""",
        examples=("orchestrate hosts drain latest build-2",),
        target="host",
        argument=_HOST,
    ),
    CatalogEntry(
        "hosts cordon",
        do="cordon",
        usage="hosts cordon HOST",
        summary="open nothing new on a host",
        line="Open nothing new on a host.",
        help="""Open nothing new on HOST of RUN. What runs there goes on, and the host stays. That holds when it is lost
        and joins again, and for the engine that goes on with the run.""",
        examples=("orchestrate hosts cordon latest build-2",),
        target="host",
        argument=_HOST,
    ),
    CatalogEntry(
        "hosts uncordon",
        do="uncordon",
        usage="hosts uncordon HOST",
        summary="use a host again",
        line="Use a host again.",
        help="Use HOST of RUN again that is cordoned, or is being drained and has not left yet.",
        examples=("orchestrate hosts uncordon latest build-2",),
        target="host",
        argument=_HOST,
    ),
)
_ENGINE_COMMANDS = (
    CatalogEntry(
        *("drain", "stop", "drain", "let what runs finish, begin nothing new; as Ctrl-C once"), fixed={"how": "drain"}
    ),
    CatalogEntry(
        *("stop", "stop", "stop", "stop the engine at once, resumably; as Ctrl-C twice"), fixed={"how": "interrupt"}
    ),
)

OLD_VERBS: Mapping[str, str] = {"deny": "reject"}
"""The verbs that still work and are not listed any more, with the names that they have now."""
GOAL_VERBS: Mapping[str, CatalogEntry] = {entry.name: entry for entry in _GOAL_COMMANDS}
"""The commands that are verbs of `orchestrate`, by name."""
CRITERION_VERBS: Mapping[str, CatalogEntry] = {entry.name.split()[1]: entry for entry in _CRITERION_COMMANDS}
"""The commands that are verbs of `orchestrate criterion`, by name."""
MIGRATION_VERBS: Mapping[str, CatalogEntry] = {entry.name: entry for entry in _MIGRATION_COMMANDS}
"""The commands that are verbs of `orchestrate migrate`, by name."""
HOST_VERBS: Mapping[str, CatalogEntry] = {entry.name.split()[1]: entry for entry in _HOST_COMMANDS}
"""The commands that are verbs of `orchestrate hosts`, by name."""
TYPED_COMMANDS: Mapping[str, CatalogEntry] = {
    **GOAL_VERBS,
    **{name: entry for name, entry in MIGRATION_VERBS.items() if name not in GOAL_VERBS},
    **{entry.name: entry for entry in (*_CRITERION_COMMANDS, *_HOST_COMMANDS, *_ENGINE_COMMANDS)},
}
"""The commands that a dashboard knows, by what is typed. `retry` means tasks of a goal and files of a migration."""
