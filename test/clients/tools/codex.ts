import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { headerIs, linesOf, numberOf, type Session, textOf, type Tool } from '../tool.ts'

/** Codex: speaks responses. */
const codex: Tool = {
  name: 'codex',
  folder: 'codex',
  settings: '`model_providers` with `base_url`, `env_key` and `wire_api = "responses"`',
  package: '@openai/codex',
  version: '0.169.0',
  bin: 'codex',
  protocol: 'responses',
  requests: { prompt: 1, beside: '' },
  shell: { name: 'exec_command', args: cmd => ({ cmd }) },
  search: { shows: /"type":"web_search".*search for anything new/ },
  files: ({ gateway, model }) => ({
    '.codex/config.toml': `
model = "${model}"
model_provider = "gateway"
check_for_update_on_startup = false
web_search = "live"
[analytics]
enabled = false
[features]
plugins = false
apps = false
[model_providers.gateway]
name = "gateway"
base_url = "${gateway}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
`,
  }),
  args: ({ prompt }) => [
    'exec',
    '--json',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    prompt,
  ],
  env: ({ key }) => ({ GATEWAY_KEY: key }),
  read(stdout, stderr) {
    const events = linesOf(stdout)
    const items = events.filter(event => event['type'] === 'item.completed').map(event => fieldsOf(event['item']))
    const last = events.findLast(event => event['type'] === 'turn.completed')
    const failed = events.findLast(event => event['type'] === 'turn.failed')
    const usage = fieldsOf(last?.['usage'])
    return {
      text: textOf(items.findLast(item => item['type'] === 'agent_message')?.['text']),
      error: failed === undefined ? (last === undefined ? stderr || stdout : '') : textOf(failed['error']),
      usage: {
        input: numberOf(usage['input_tokens']),
        cached: numberOf(usage['cached_input_tokens']),
        output: numberOf(usage['output_tokens']),
      },
    }
  },
}

const part = (value: string): string => Buffer.from(value).toString('base64url')
/** A token that says who signed in; nobody checks its signature. */
const ID_TOKEN = [
  { alg: 'none', typ: 'JWT' },
  {
    email: 'somebody@example.com',
    exp: 4_102_444_800,
    'https://api.openai.com/auth': {
      chatgpt_plan_type: 'pro',
      chatgpt_account_id: 'made-up',
      chatgpt_user_id: 'made-up',
    },
  },
]
  .map(value => part(JSON.stringify(value)))
  .concat(part('none'))
  .join('.')

/** As with an account of ChatGPT, and a provider that is named like the vendor's own: then it compresses what it sends. */
const signedInFiles = ({ gateway, key, model, asked }: Session): Record<string, string> => ({
  '.codex/auth.json': JSON.stringify({
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens: { id_token: ID_TOKEN, access_token: key, refresh_token: 'made-up', account_id: 'made-up' },
    last_refresh: new Date().toISOString(),
  }),
  '.codex/config.toml': `
${asked === 'compaction' ? 'model_auto_compact_token_limit = 300' : ''}
model = "${model}"
model_provider = "gateway"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
enable_request_compression = true
[model_providers.gateway]
name = "OpenAI"
base_url = "${gateway}/v1"
requires_openai_auth = true
wire_api = "responses"
supports_websockets = false
`,
})

export const codexes: readonly Tool[] = [
  codex,
  {
    ...codex,
    name: 'codex-signed-in',
    without: { search: 'as with the other settings' },
    settings:
      'signed in (`auth.json` of ChatGPT with the key as its token), a provider named `OpenAI` with `requires_openai_auth`, `enable_request_compression`',
    compacts: true,
    files: signedInFiles,
    // it would ask the vendor for another token when the key is refused
    env: () => ({ CODEX_REFRESH_TOKEN_URL_OVERRIDE: 'http://127.0.0.1:9/' }),
    shows: { 401: /error sending request for url \(http:\/\/127\.0\.0\.1:9/ },
    sends: headerIs('content-encoding', 'zstd'),
  },
]
