/** The SDKs of each family, and those that speak several protocols. */
import type { ClientRow } from './row.ts'

const both = (text: string) => ({ zh: text, en: text })

export const SDKS: readonly ClientRow[] = [
  {
    id: 'anthropic-sdk',
    name: both('Anthropic SDK'),
    protocols: ['messages'],
    address: '{base}',
    snippets: [
      {
        title: 'JavaScript',
        syntax: 'js',
        text: 'const client = new Anthropic({ baseURL: "{base}", apiKey: "{key}" })',
      },
      { title: 'Python', syntax: 'python', text: 'client = Anthropic(base_url="{base}", api_key="{key}")' },
      {
        title: 'macOS · Linux',
        syntax: 'sh',
        text: "export ANTHROPIC_BASE_URL='{base}'\nexport ANTHROPIC_API_KEY='{key}'",
      },
    ],
    links: [],
    notes: [],
  },
  {
    id: 'openai-sdk',
    name: both('OpenAI SDK'),
    protocols: ['chat', 'responses', 'images', 'embeddings', 'moderations', 'speech', 'transcriptions'],
    address: '{base}/v1',
    snippets: [
      {
        title: 'JavaScript',
        syntax: 'js',
        text: 'const client = new OpenAI({ baseURL: "{base}/v1", apiKey: "{key}" })',
      },
      { title: 'Python', syntax: 'python', text: 'client = OpenAI(base_url="{base}/v1", api_key="{key}")' },
      {
        title: 'macOS · Linux',
        syntax: 'sh',
        text: "export OPENAI_BASE_URL='{base}/v1'\nexport OPENAI_API_KEY='{key}'",
      },
    ],
    links: [],
    notes: [],
  },
  {
    id: 'google-sdk',
    name: both('Google Gen AI SDK'),
    protocols: ['generate', 'embeddings'],
    address: '{base}',
    snippets: [
      {
        title: 'JavaScript',
        syntax: 'js',
        text: 'const client = new GoogleGenAI({ apiKey: "{key}", httpOptions: { baseUrl: "{base}" } })',
      },
      {
        title: 'Python',
        syntax: 'python',
        text: 'client = genai.Client(api_key="{key}", http_options={"base_url": "{base}"})',
      },
      {
        title: 'macOS · Linux',
        syntax: 'sh',
        text: "export GOOGLE_GEMINI_BASE_URL='{base}'\nexport GEMINI_API_KEY='{key}'",
      },
    ],
    links: [],
    notes: [{ zh: '地址不带 /v1beta。', en: 'The address has no /v1beta.' }],
  },
  {
    id: 'ai-sdk',
    name: both('AI SDK'),
    protocols: ['messages', 'chat', 'generate'],
    address: '{base}/v1',
    snippets: [
      {
        title: '@ai-sdk/anthropic',
        syntax: 'js',
        text: 'const provider = createAnthropic({ baseURL: "{base}/v1", apiKey: "{key}" })',
      },
      {
        title: '@ai-sdk/openai',
        syntax: 'js',
        text: 'const provider = createOpenAI({ baseURL: "{base}/v1", apiKey: "{key}" })',
      },
      {
        title: '@ai-sdk/google',
        syntax: 'js',
        text: 'const provider = createGoogleGenerativeAI({ baseURL: "{base}/v1beta", apiKey: "{key}" })',
      },
    ],
    links: [],
    notes: [
      {
        zh: '地址与提供方有关：Google 以 /v1beta 结尾，其余以 /v1 结尾。',
        en: 'The address depends on the provider: it ends in /v1beta for Google, in /v1 for the others.',
      },
    ],
  },
]
