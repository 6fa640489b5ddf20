/** Coding tools and chat applications. */
import type { ClientRow, ImportLink } from './row.ts'

const both = (text: string) => ({ zh: text, en: text })

/** CC Switch takes over one setting for one tool. */
const ccSwitch = (app: string, endpoint: string): ImportLink => ({
  app: 'CC Switch',
  link: `ccswitch://v1/import?resource=provider&app=${app}&name={name}&homepage={base}&endpoint=${endpoint}&apiKey={key}&model={model}`,
})

const settings = (value: unknown): string => JSON.stringify(value, null, 2)

export const TOOLS: readonly ClientRow[] = [
  {
    id: 'claude-code',
    name: both('Claude Code'),
    protocols: ['messages'],
    address: '{base}',
    snippets: [
      {
        title: 'macOS · Linux',
        syntax: 'sh',
        text: "export ANTHROPIC_BASE_URL='{base}'\nexport ANTHROPIC_AUTH_TOKEN='{key}'\nexport ANTHROPIC_MODEL='{model}'",
      },
      {
        title: 'PowerShell',
        syntax: 'powershell',
        text: "$env:ANTHROPIC_BASE_URL = '{base}'\n$env:ANTHROPIC_AUTH_TOKEN = '{key}'\n$env:ANTHROPIC_MODEL = '{model}'",
      },
      {
        title: 'cmd',
        syntax: 'cmd',
        text: 'set "ANTHROPIC_BASE_URL={base}"\nset "ANTHROPIC_AUTH_TOKEN={key}"\nset "ANTHROPIC_MODEL={model}"',
      },
      {
        title: '~/.claude/settings.json',
        syntax: 'json',
        text: settings({
          env: { ANTHROPIC_BASE_URL: '{base}', ANTHROPIC_AUTH_TOKEN: '{key}', ANTHROPIC_MODEL: '{model}' },
        }),
      },
    ],
    links: [ccSwitch('claude', '{base}')],
    notes: [
      {
        zh: '地址不带 /v1。',
        en: 'The address has no /v1.',
      },
    ],
  },
  {
    id: 'codex',
    name: both('Codex'),
    protocols: ['responses'],
    address: '{base}/v1',
    snippets: [
      {
        title: '~/.codex/config.toml',
        syntax: 'toml',
        text: [
          'model = "{model}"',
          'model_provider = "gateway"',
          '',
          '[model_providers.gateway]',
          'name = "{name}"',
          'base_url = "{base}/v1"',
          'env_key = "GATEWAY_API_KEY"',
          'wire_api = "responses"',
        ].join('\n'),
      },
      { title: 'macOS · Linux', syntax: 'sh', text: "export GATEWAY_API_KEY='{key}'" },
      { title: 'PowerShell', syntax: 'powershell', text: "$env:GATEWAY_API_KEY = '{key}'" },
      { title: 'cmd', syntax: 'cmd', text: 'set "GATEWAY_API_KEY={key}"' },
    ],
    links: [ccSwitch('codex', '{base}%2Fv1')],
    notes: [
      {
        zh: 'Codex 不读取 OPENAI_BASE_URL：请使用 config.toml，并写明模型名。',
        en: 'Codex does not read OPENAI_BASE_URL: use config.toml, and name a model.',
      },
    ],
  },
  {
    id: 'gemini-cli',
    name: both('Gemini CLI'),
    protocols: ['generate'],
    address: '{base}',
    snippets: [
      {
        title: '~/.gemini/settings.json',
        syntax: 'json',
        text: settings({ security: { auth: { selectedType: 'gemini-api-key' } }, model: { name: '{model}' } }),
      },
      {
        title: 'macOS · Linux',
        syntax: 'sh',
        text: "export GOOGLE_GEMINI_BASE_URL='{base}'\nexport GEMINI_API_KEY='{key}'\ngemini -m '{model}'",
      },
      {
        title: 'PowerShell',
        syntax: 'powershell',
        text: "$env:GOOGLE_GEMINI_BASE_URL = '{base}'\n$env:GEMINI_API_KEY = '{key}'\ngemini -m '{model}'",
      },
      {
        title: 'cmd',
        syntax: 'cmd',
        text: 'set "GOOGLE_GEMINI_BASE_URL={base}"\nset "GEMINI_API_KEY={key}"\ngemini -m "{model}"',
      },
    ],
    links: [ccSwitch('gemini', '{base}')],
    notes: [
      {
        zh: '请用 -m 写明模型：不写时，它会先用另一个模型来选择模型。地址不带 /v1beta。',
        en: 'Name a model with -m: without it, another model is asked first which one to use. The address has no /v1beta.',
      },
    ],
  },
  {
    id: 'opencode',
    name: both('OpenCode'),
    protocols: ['messages', 'chat', 'generate'],
    address: '{base}/v1',
    snippets: [
      ['messages', '@ai-sdk/anthropic', '{base}/v1'],
      ['chat', '@ai-sdk/openai-compatible', '{base}/v1'],
      ['generate', '@ai-sdk/google', '{base}/v1beta'],
    ].map(([protocol, npm, baseURL]) => ({
      title: `opencode.json (${protocol})`,
      syntax: 'json' as const,
      text: settings({
        $schema: 'https://opencode.ai/config.json',
        provider: {
          gateway: { npm, name: '{name}', options: { baseURL, apiKey: '{key}' }, models: { '{model}': {} } },
        },
      }),
    })),
    links: [ccSwitch('opencode', '{base}%2Fv1')],
    notes: [
      {
        zh: '地址与协议有关：messages 与 chat 以 /v1 结尾，generate 以 /v1beta 结尾。',
        en: 'The address depends on the protocol: it ends in /v1 for messages and chat, in /v1beta for generate.',
      },
    ],
  },
  {
    id: 'cursor',
    name: both('Cursor'),
    protocols: ['chat'],
    address: '{base}/v1',
    snippets: [
      { title: 'Settings → Models → Override OpenAI Base URL', syntax: 'text', text: '{base}/v1' },
      { title: 'Settings → Models → OpenAI API Key', syntax: 'text', text: '{key}' },
    ],
    links: [],
    notes: [
      {
        zh: '请求由 Cursor 自己的服务器发出：地址必须能从互联网访问，密钥的 IP 白名单里也不能只有您自己的地址。',
        en: 'Cursor sends requests from its own servers: the address must be reachable from the internet, and a key that allows only your own address is refused.',
      },
    ],
  },
  {
    id: 'cherry-studio',
    name: both('Cherry Studio'),
    protocols: ['chat', 'messages', 'generate'],
    address: '{base}',
    snippets: [
      { title: 'API Host', syntax: 'text', text: '{base}' },
      { title: 'API Key', syntax: 'text', text: '{key}' },
    ],
    links: [
      {
        app: 'Cherry Studio',
        link: 'cherrystudio://providers/api-keys?v=1&data={data}',
        data: { id: 'gateway', name: '{name}', type: 'openai', baseUrl: '{base}', apiKey: '{key}' },
      },
    ],
    notes: [{ zh: '地址不带 /v1，也不以斜杠结尾。', en: 'The address has no /v1 and no slash at its end.' }],
  },
  {
    id: 'nextchat',
    name: both('NextChat'),
    protocols: ['chat'],
    address: '{base}',
    snippets: [
      { title: 'Endpoint', syntax: 'text', text: '{base}' },
      { title: 'API Key', syntax: 'text', text: '{key}' },
      {
        title: 'docker run',
        syntax: 'sh',
        text: "docker run -p 3000:3000 -e BASE_URL='{base}' -e OPENAI_API_KEY='{key}' yidadaa/chatgpt-next-web",
      },
    ],
    links: [],
    notes: [
      {
        zh: '地址不带 /v1：带上时，它会请求 /v1/v1/chat/completions。',
        en: 'The address has no /v1: with it, /v1/v1/chat/completions is asked for.',
      },
    ],
  },
]
