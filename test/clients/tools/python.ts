/** Libraries of Python, which speak chat: programs of a few lines, as people write them. */
import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { linesOf, numberOf, textOf, type Tool } from '../tool.ts'

/** `--version` says what is installed; else the last argument is the prompt. `body` sets `text`, adds to `usage`, and may raise. */
const program = (name: string, imports: string, body: string): string => `
import json, os, subprocess, sys
from importlib.metadata import version
if sys.argv[1] == '--version':
    print(version('${name}'))
    sys.exit(0)
${imports}
URL, KEY, MODEL = os.environ['GATEWAY'] + '/v1', os.environ['KEY'], os.environ['MODEL']
PARAMETERS = {'type': 'object', 'properties': {'cmd': {'type': 'string'}}, 'required': ['cmd']}
SHELL = {'type': 'function', 'function': {'name': 'shell', 'description': 'runs a command', 'parameters': PARAMETERS}}
run = lambda cmd: subprocess.run(['bash', '-c', cmd], capture_output=True, text=True).stdout
prompt = sys.argv[1]
text, error, usage = '', '', {'input': 0, 'cached': 0, 'output': 0}
try:
${body.trim().replaceAll(/^(?=.)/gm, '    ')}
except Exception as thrown:
    error = f"{getattr(thrown, 'status_code', '')} {type(thrown).__name__} {thrown}"
print(json.dumps({'text': text, 'error': error, 'usage': usage}))
sys.exit(1 if error else 0)
`

const library = (name: string, version: string, settings: string, imports: string, body: string, more = {}): Tool => ({
  name: name === 'langchain-openai' ? 'langchain-python' : name,
  package: name,
  registry: 'pypi',
  version,
  settings,
  bin: name,
  program: program(name, imports, body),
  protocol: 'chat',
  requests: { prompt: 1, beside: '' },
  shell: { name: 'shell', args: cmd => ({ cmd }) },
  files: () => ({}),
  args: ({ prompt }) => [prompt],
  env: ({ gateway, key, model }) => ({
    GATEWAY: gateway,
    KEY: key,
    MODEL: model,
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  }),
  read(stdout, stderr) {
    const told = linesOf(stdout).at(-1)
    if (told === undefined) return { text: '', error: stderr || stdout || 'it printed nothing', usage: null }
    const usage = fieldsOf(told['usage'])
    const tokens = {
      input: numberOf(usage['input']),
      cached: numberOf(usage['cached']),
      output: numberOf(usage['output']),
    }
    return { text: textOf(told['text']), error: textOf(told['error']), usage: tokens }
  },
  ...more,
})

const langchain = library(
  'langchain-openai',
  '1.7.3',
  '`ChatOpenAI(base_url=…)`',
  `
from langchain_openai import ChatOpenAI
from langchain_core.messages import HumanMessage, ToolMessage
`,
  `
model = ChatOpenAI(model=MODEL, base_url=URL, api_key=KEY, use_responses_api=False, stream_usage=True).bind_tools([SHELL])
turns = [HumanMessage(prompt)]
for _ in range(9):
    answer = None
    for chunk in model.stream(turns):
        answer = chunk if answer is None else answer + chunk
    told = answer.usage_metadata or {}
    usage['input'] += told.get('input_tokens', 0)
    usage['cached'] += told.get('input_token_details', {}).get('cache_read', 0)
    usage['output'] += told.get('output_tokens', 0)
    text = str(answer.text)
    if not answer.tool_calls:
        break
    turns.append(answer)
    for call in answer.tool_calls:
        turns.append(ToolMessage(run(call['args']['cmd']), tool_call_id=call['id']))
`,
)

const litellm = library(
  'litellm',
  '1.106.2',
  '`completion(model="openai/MODEL", api_base=…)`',
  'import litellm',
  `
turns = [{'role': 'user', 'content': prompt}]
for _ in range(9):
    chunks = list(litellm.completion(model='openai/' + MODEL, api_base=URL, api_key=KEY, messages=turns, tools=[SHELL],
        stream=True, stream_options={'include_usage': True}, max_retries=2))
    answer = litellm.stream_chunk_builder(chunks, messages=turns)
    told = answer.usage
    usage['input'] += told.prompt_tokens
    usage['cached'] += (told.prompt_tokens_details.cached_tokens or 0) if told.prompt_tokens_details else 0
    usage['output'] += told.completion_tokens
    message = answer.choices[0].message
    text = message.content or ''
    if not message.tool_calls:
        break
    turns.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls:
        turns.append({'role': 'tool', 'tool_call_id': call.id, 'content': run(json.loads(call.function.arguments)['cmd'])})
`,
  // it imports this one for tools, and does not name it as a dependency
  { beside: ['mcp==2.3.0'] },
)

/** It asks for objects: what to run, and at last what is said. The simulator fills an object by its schema. */
const instructor = library(
  'instructor',
  '1.17.0',
  '`from_openai(OpenAI(base_url=…))`',
  `
from typing import Literal
import instructor
from openai import OpenAI
from pydantic import BaseModel
class shell(BaseModel):
    cmd: str
class said(BaseModel):
    text: Literal['The quick brown fox']
`,
  `
client = instructor.from_openai(OpenAI(base_url=URL, api_key=KEY))
turns = [{'role': 'user', 'content': prompt}]
for kind in [shell, shell, said] if 'call=shell' in prompt else [said]:
    if kind is said and len(turns) > 1:
        turns.append({'role': 'user', 'content': 'What came of it? use tool'})
    found, answer = client.chat.completions.create_with_completion(model=MODEL, messages=turns, response_model=kind, max_retries=1)
    told = answer.usage
    usage['input'] += told.prompt_tokens
    usage['cached'] += (told.prompt_tokens_details.cached_tokens or 0) if told.prompt_tokens_details else 0
    usage['output'] += told.completion_tokens
    if kind is said:
        text = found.text
        break
    call = answer.choices[0].message.tool_calls[0]
    turns.append({'content': None, **answer.choices[0].message.model_dump(exclude_none=True)})
    turns.append({'role': 'tool', 'tool_call_id': call.id, 'content': run(found.cmd)})
`,
  {
    changesTools: true,
    wording: (prompt: string) => `${prompt.replace('[[sim text', '[[sim')} use tool`,
    isWhole: (text: string) => text === 'The quick brown fox',
  },
)

export const pythonLibraries: readonly Tool[] = [langchain, litellm, instructor]
