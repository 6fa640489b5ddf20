/**
 * What a reader copies into a client to make it use the gateway. The page puts the chosen address in the place of
 * `{base}` and `sk-…` in the place of `{key}`.
 */
export interface ClientKind {
  chinese: string
  english: string
  /** What this kind of client needs behind the address. */
  suffix: '' | '/v1'
  snippets: { title: string; text: string }[]
}

export const CLIENTS: ClientKind[] = [
  {
    chinese: 'Messages 协议(命令行编程工具及其 SDK)',
    english: 'Messages protocol (coding tool, the family’s SDK)',
    suffix: '',
    snippets: [
      { title: 'shell', text: 'export ANTHROPIC_BASE_URL={base}\nexport ANTHROPIC_AUTH_TOKEN={key}' },
      { title: 'JavaScript', text: "const client = new Anthropic({ baseURL: '{base}', apiKey: '{key}' })" },
      { title: 'Python', text: "client = Anthropic(base_url='{base}', api_key='{key}')" },
    ],
  },
  {
    chinese: 'OpenAI 兼容的客户端与 SDK',
    english: 'OpenAI-compatible clients and SDKs',
    suffix: '/v1',
    snippets: [
      { title: 'shell', text: 'export OPENAI_BASE_URL={base}/v1\nexport OPENAI_API_KEY={key}' },
      { title: 'JavaScript', text: "const client = new OpenAI({ baseURL: '{base}/v1', apiKey: '{key}' })" },
      { title: 'Python', text: "client = OpenAI(base_url='{base}/v1', api_key='{key}')" },
    ],
  },
  {
    chinese: '原生 generate-content 客户端',
    english: 'Native generate-content clients',
    suffix: '',
    snippets: [
      { title: 'shell', text: 'export GOOGLE_GEMINI_BASE_URL={base}\nexport GEMINI_API_KEY={key}' },
      {
        title: 'JavaScript',
        text: "const client = new GoogleGenAI({ apiKey: '{key}', httpOptions: { baseUrl: '{base}' } })",
      },
      {
        title: 'Python',
        text: "client = genai.Client(api_key='{key}', http_options={'base_url': '{base}'})",
      },
    ],
  },
]
