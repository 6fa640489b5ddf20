/**
 * The table of clients: what a reader copies into a coding tool, an application or an SDK to make it use the gateway, and
 * what else is to be known of it. `web/shared/fill.ts` puts address, key and model in the place of `{base}`, `{key}` and
 * `{model}`, and the model's name as one step of a path in that of `{step}`. The page Connect, the dialogs of keys and the docs use these rows.
 */
import type { Words } from '../base/people.ts'
import type { Protocol } from '../protocols/names.ts'
import type { Syntax } from '../../web/shared/fill.ts'
import { AI_SDK_PROGRAMS, ANTHROPIC_PROGRAMS, CURL_COMMANDS, GOOGLE_PROGRAMS, OPENAI_PROGRAMS } from './programs.ts'

interface ClientSnippet {
  /** A shell, a language, or the file's path. */
  title: string
  syntax: Syntax
  text: string
  /** The protocols of the models that it is for. Absent: all of the client's. */
  protocols?: readonly Protocol[]
  /** `Program` in `programs.ts` says what it is. */
  frame?: string
}

/** An address that hands the settings to an application on the reader's machine. It holds the key. */
export interface ImportLink {
  /** The application that it opens. */
  app: string
  link: string
  /** The values are JSON in base64 within the link, in the place of `{data}`. */
  data?: Record<string, string>
}

export interface ClientRow {
  id: string
  name: Words
  /** In the order in which the client's files below need them. */
  protocols: readonly Protocol[]
  /** The address that people enter, of `{base}`. */
  address: string
  snippets: readonly ClientSnippet[]
  /** Only for the dialogs that show a new key. */
  links: readonly ImportLink[]
  notes: readonly Words[]
}

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
        text: "export ANTHROPIC_BASE_URL='{base}'\nexport ANTHROPIC_AUTH_TOKEN='{key}'\nexport ANTHROPIC_MODEL='{model}'\nclaude",
      },
      {
        title: 'PowerShell',
        syntax: 'powershell',
        text: "$env:ANTHROPIC_BASE_URL = '{base}'\n$env:ANTHROPIC_AUTH_TOKEN = '{key}'\n$env:ANTHROPIC_MODEL = '{model}'\nclaude",
      },
      {
        title: 'cmd',
        syntax: 'cmd',
        text: 'set "ANTHROPIC_BASE_URL={base}"\nset "ANTHROPIC_AUTH_TOKEN={key}"\nset "ANTHROPIC_MODEL={model}"\nclaude',
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
      { title: 'macOS · Linux', syntax: 'sh', text: "export GATEWAY_API_KEY='{key}'\ncodex" },
      { title: 'PowerShell', syntax: 'powershell', text: "$env:GATEWAY_API_KEY = '{key}'\ncodex" },
      { title: 'cmd', syntax: 'cmd', text: 'set "GATEWAY_API_KEY={key}"\ncodex' },
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
    snippets: (
      [
        ['messages', '@ai-sdk/anthropic', '{base}/v1'],
        ['chat', '@ai-sdk/openai-compatible', '{base}/v1'],
        ['generate', '@ai-sdk/google', '{base}/v1beta'],
      ] as const
    ).map(([protocol, npm, baseURL]) => ({
      title: `opencode.json (${protocol})`,
      syntax: 'json' as const,
      protocols: [protocol],
      text: settings({
        $schema: 'https://opencode.ai/config.json',
        model: 'gateway/{model}',
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
      { title: 'Settings → Models → Add model', syntax: 'text', text: '{model}' },
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
      { title: 'Model ID', syntax: 'text', text: '{model}' },
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
      { title: 'Custom Models', syntax: 'text', text: '{model}' },
      {
        title: 'docker run',
        syntax: 'sh',
        text: [
          "docker run -p 3000:3000 -e BASE_URL='{base}' -e OPENAI_API_KEY='{key}' \\",
          "  -e CUSTOM_MODELS='+{model}' -e DEFAULT_MODEL='{model}' yidadaa/chatgpt-next-web",
        ].join('\n'),
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

/** Who looks for a language finds it by its name. */
const LANGUAGES: readonly ClientRow[] = (
  [
    ['python', 'Python'],
    ['js', 'JavaScript'],
  ] as const
).map(([language, name]) => ({
  id: `openai-${language}`,
  name: both(`${name} (OpenAI SDK)`),
  protocols: ['chat', 'responses', 'images', 'embeddings', 'moderations', 'speech', 'transcriptions'],
  address: '{base}/v1',
  snippets: OPENAI_PROGRAMS.filter(({ syntax }) => syntax === language),
  links: [],
  notes: [],
}))

const SDKS: readonly ClientRow[] = [
  {
    id: 'anthropic-sdk',
    name: both('Anthropic SDK'),
    protocols: ['messages'],
    address: '{base}',
    snippets: ANTHROPIC_PROGRAMS,
    links: [],
    notes: [],
  },
  {
    id: 'google-sdk',
    name: both('Google Gen AI SDK'),
    protocols: ['generate', 'embeddings'],
    address: '{base}',
    snippets: GOOGLE_PROGRAMS,
    links: [],
    notes: [{ zh: '地址不带 /v1beta。', en: 'The address has no /v1beta.' }],
  },
  {
    id: 'ai-sdk',
    name: both('AI SDK (JavaScript)'),
    protocols: ['messages', 'chat', 'responses', 'generate'],
    address: '{base}/v1',
    snippets: AI_SDK_PROGRAMS,
    links: [],
    notes: [
      {
        zh: '地址与提供方有关：Google 以 /v1beta 结尾，其余以 /v1 结尾。',
        en: 'The address depends on the provider: it ends in /v1beta for Google, in /v1 for the others.',
      },
    ],
  },
]

const CURL: readonly ClientRow[] = [
  {
    id: 'curl',
    name: both('curl'),
    protocols: CURL_COMMANDS.flatMap(({ protocols }) => protocols),
    address: '{base}/v1',
    snippets: CURL_COMMANDS,
    links: [],
    notes: [],
  },
]

/** curl is on every machine, so it stands first, and then what people write themselves. */
export const CLIENTS: readonly ClientRow[] = [...CURL, ...LANGUAGES, ...TOOLS, ...SDKS]
