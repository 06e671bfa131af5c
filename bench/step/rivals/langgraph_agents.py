"""langgraph's ready-made tool loop through langchain's OpenAI client, with its checkpointer in memory.

python langgraph_agents.py URL AGENTS STEPS
"""

import asyncio  # noqa: TID251  the framework's own loop
import warnings

from measuring import measure_steps

warnings.filterwarnings("ignore")


async def run_bash(command: str) -> str:
    """Run a command and return its output."""
    process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return output.decode()


async def run_agents(url: str, agents: int) -> None:
    """Hold so many conversations at once."""
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.prebuilt import create_react_agent

    model = ChatOpenAI(model="langgraph", base_url=url, api_key="sk-bench")
    graph = create_react_agent(model, [run_bash], prompt="You work.", checkpointer=InMemorySaver())
    asked = {"messages": [("user", "Do it.")]}
    held = []
    for number in range(agents):
        config = {"configurable": {"thread_id": str(number)}, "recursion_limit": 1_000}
        held.append(graph.ainvoke(asked, config))
    await asyncio.gather(*held)


if __name__ == "__main__":
    measure_steps(lambda url, agents: asyncio.run(run_agents(url, agents)))
