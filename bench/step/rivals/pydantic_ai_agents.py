"""pydantic-ai through its OpenAI client: one task of the event loop for each agent, no journal.

python pydantic_ai_agents.py URL AGENTS STEPS
"""

import asyncio  # noqa: TID251  the framework's own loop

from measuring import measure_steps


async def run_bash(command: str) -> str:
    """Run a command and return its output."""
    process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return output.decode()


async def run_agents(url: str, agents: int) -> None:
    """Hold so many conversations at once."""
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("pydantic-ai", provider=OpenAIProvider(base_url=url, api_key="sk-bench"))
    agent = Agent(model, system_prompt="You work.", tools=[run_bash])
    limits = UsageLimits(request_limit=None)
    await asyncio.gather(*(agent.run("Do it.", usage_limits=limits) for _ in range(agents)))


if __name__ == "__main__":
    measure_steps(lambda url, agents: asyncio.run(run_agents(url, agents)))
