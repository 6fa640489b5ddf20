import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { linesOf, numberOf, textOf, type Tool } from '../tool.ts'

/** Codex: speaks responses. */
export const codex: Tool = {
  name: 'codex',
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
