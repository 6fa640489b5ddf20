/**
 * What the reference of the models' API says of each path, in both languages. Which paths there are, where a key stands and what streams
 * follows from the rows that route them; a test compares the two.
 */
import type { Words } from '../base/people.ts'
import type { Protocol } from '../protocols/names.ts'

export interface ApiParameter {
  name: string
  type: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'file'
  required: boolean
  what: Words
}

interface FormText {
  /** What each path does, by the path behind its version. */
  paths: Readonly<Record<string, Words>>
  /** The parameters that matter here. All others pass to the upstream as they are. */
  parameters: readonly ApiParameter[]
  charged: Words
}

const both = (zh: string, en: string): Words => ({ zh, en })

const parameter = (type: ApiParameter['type'], name: string, zh: string, en: string): ApiParameter => ({
  name,
  type,
  required: false,
  what: both(zh, en),
})

const needed = (type: ApiParameter['type'], name: string, zh: string, en: string): ApiParameter => ({
  ...parameter(type, name, zh, en),
  required: true,
})

const MODEL = needed('string', 'model', '模型目录中的名称。', 'A name of the catalogue of models.')
const STREAM = parameter('boolean', 'stream', '逐步返回，格式为 event stream。', 'Answers come as a stream of events.')
const TOOLS = parameter(
  'array',
  'tools',
  '客户端的函数；由上游运行的工具须有价格，否则被拒绝。',
  'Functions of the client. A tool that the upstream runs must have a price, or the request is refused.',
)
const TEMPERATURE = parameter('number', 'temperature', '取样温度。', 'How freely words are chosen.')

const TOKENS = both(
  '按输入、缓存读写与输出的 token 计费，价格见模型目录；另有价格的工具单独计费。请求前预扣可能的最高费用，结束后按实际用量结算。',
  'Tokens of input, cache and output, at the prices of the catalogue; tools that have a price beside them. The most that it can cost is held first, and what was used is charged at the end.',
)
const PIECES = both('按输入的 token 计费。', 'Tokens of input.')

const FILE = needed('file', 'file', '录音文件。', 'The recording.')

/** A protocol that is new stands in the reference by its paths alone, until something is said of it here; a test asks for that. */
export const FORM_TEXTS: Readonly<Partial<Record<Protocol, FormText>>> = {
  messages: {
    paths: {
      '/messages': both(
        '消息：对话、图片与文档、工具、思考',
        'Messages: conversations, pictures and documents, tools, thinking',
      ),
      '/messages/count_tokens': both('计算请求的 token 数', 'Count the tokens of a request'),
    },
    parameters: [
      MODEL,
      needed('array', 'messages', '对话：角色与内容。', 'The conversation: roles and contents.'),
      needed(
        'integer',
        'max_tokens',
        '最大输出 token；预扣费用由它决定。',
        'The most tokens of output. It decides what is held.',
      ),
      parameter('string', 'system', '系统提示，文本或内容块。', 'The system prompt, as text or blocks.'),
      STREAM,
      TOOLS,
      parameter('object', 'thinking', '思考及其预算。', 'Thinking, and its budget.'),
      TEMPERATURE,
    ],
    charged: TOKENS,
  },
  chat: {
    paths: { '/chat/completions': both('聊天补全', 'Chat completions') },
    parameters: [
      MODEL,
      needed('array', 'messages', '对话：角色与内容。', 'The conversation: roles and contents.'),
      parameter(
        'integer',
        'max_tokens',
        '最大输出 token，也可写作 max_completion_tokens；预扣费用由它决定。',
        'The most tokens of output, or max_completion_tokens. It decides what is held.',
      ),
      parameter('integer', 'n', '答案的数量，每个都计费。', 'How many answers; each is charged.'),
      STREAM,
      parameter(
        'object',
        'stream_options',
        'include_usage：最后一个事件带用量；include_cost：带费用。',
        'include_usage: the last event has the usage. include_cost: and what it cost.',
      ),
      TOOLS,
      parameter('string', 'reasoning_effort', '思考的强度。', 'How much the model thinks.'),
      TEMPERATURE,
    ],
    charged: TOKENS,
  },
  completions: {
    paths: { '/completions': both('文本续写（旧式）', 'Completions, the form before chat') },
    parameters: [
      MODEL,
      needed('string', 'prompt', '要续写的文本，或多个文本。', 'The text to be continued, or several.'),
      parameter('integer', 'max_tokens', '最大输出 token。', 'The most tokens of output.'),
      parameter('integer', 'n', '每个文本的答案数量。', 'How many answers each prompt has.'),
      STREAM,
    ],
    charged: TOKENS,
  },
  responses: {
    paths: {
      '/responses': both(
        '响应：对话、工具、思考，可接续之前的响应',
        'Responses: conversations, tools, thinking, continued by their id',
      ),
      '/responses/compact': both('压缩一段对话', 'Compact a conversation'),
      '/responses/input_tokens': both('计算请求的 token 数', 'Count the tokens of a request'),
    },
    parameters: [
      MODEL,
      needed(
        'array',
        'input',
        '文本，或由消息与工具结果组成的列表。',
        'A text, or a list of messages and results of tools.',
      ),
      parameter('string', 'instructions', '系统提示。', 'The system prompt.'),
      parameter(
        'integer',
        'max_output_tokens',
        '最大输出 token；预扣费用由它决定。',
        'The most tokens of output. It decides what is held.',
      ),
      parameter(
        'string',
        'previous_response_id',
        '接续本账户之前的响应。',
        'Continues an earlier response of this account.',
      ),
      STREAM,
      TOOLS,
      parameter('object', 'reasoning', '思考的强度。', 'How much the model thinks.'),
    ],
    charged: TOKENS,
  },
  generate: {
    paths: {
      '/models/{model}:generateContent': both('生成内容', 'Generate content'),
      '/models/{model}:streamGenerateContent': both(
        '逐步生成内容；alt=sse 为 event stream',
        'Generate content in pieces; alt=sse for a stream of events',
      ),
      '/models/{model}:countTokens': both('计算请求的 token 数', 'Count the tokens of a request'),
    },
    parameters: [
      needed('array', 'contents', '对话：角色与内容。', 'The conversation: roles and parts.'),
      parameter('object', 'systemInstruction', '系统提示。', 'The system prompt.'),
      parameter(
        'object',
        'generationConfig',
        'maxOutputTokens、temperature、thinkingConfig 等。',
        'maxOutputTokens, temperature, thinkingConfig and others.',
      ),
      TOOLS,
    ],
    charged: TOKENS,
  },
  images: {
    paths: {
      '/images/generations': both('按描述作图', 'Make pictures from words'),
      '/images/edits': both('修改图片', 'Edit pictures'),
      '/images/variations': both('图片的变体', 'Variations of a picture'),
    },
    parameters: [
      MODEL,
      parameter('string', 'prompt', '图片的内容。', 'What the picture shows.'),
      parameter(
        'file',
        'image',
        '要修改的图片（edits、variations，以表单发送）。',
        'The picture to be changed (edits and variations, sent as a form).',
      ),
      parameter('integer', 'n', '图片数量。', 'How many pictures.'),
      parameter(
        'string',
        'size',
        '尺寸，例如 1024x1024；不同尺寸可有不同价格。',
        'The size, such as 1024x1024. Sizes may have prices of their own.',
      ),
      parameter('string', 'quality', '质量；不同质量可有不同价格。', 'The quality, which may have a price of its own.'),
      parameter('string', 'response_format', 'url 或 b64_json。', 'url or b64_json.'),
      STREAM,
    ],
    charged: both(
      '按图片的数量、尺寸与质量计费，或按图片 token 计费，见模型目录。',
      'Pictures by number, size and quality, or their tokens, as the catalogue says.',
    ),
  },
  embeddings: {
    paths: { '/embeddings': both('向量', 'Embeddings') },
    parameters: [
      MODEL,
      needed('array', 'input', '文本，或多个文本。', 'A text, or several.'),
      parameter('integer', 'dimensions', '向量的维数。', 'How many dimensions.'),
      parameter('string', 'encoding_format', 'float 或 base64。', 'float or base64.'),
    ],
    charged: PIECES,
  },
  nativeEmbeddings: {
    paths: {
      '/models/{model}:embedContent': both('一个内容的向量', 'The embedding of one content'),
      '/models/{model}:batchEmbedContents': both('多个内容的向量', 'The embeddings of several contents'),
    },
    parameters: [
      parameter('object', 'content', '内容（embedContent）。', 'The content (embedContent).'),
      parameter('array', 'requests', '多个请求（batchEmbedContents）。', 'The requests (batchEmbedContents).'),
      parameter('integer', 'outputDimensionality', '向量的维数。', 'How many dimensions.'),
    ],
    charged: PIECES,
  },
  rerank: {
    paths: { '/rerank': both('按相关性排序', 'Rank documents by a question') },
    parameters: [
      MODEL,
      needed('string', 'query', '问题。', 'The question.'),
      needed('array', 'documents', '要排序的文本。', 'The documents.'),
      parameter('integer', 'top_n', '返回的数量。', 'How many come back.'),
    ],
    charged: both('按次或按 token 计费，见模型目录。', 'By the request or its tokens, as the catalogue says.'),
  },
  moderations: {
    paths: { '/moderations': both('内容审核', 'Moderations') },
    parameters: [MODEL, needed('array', 'input', '文本与图片。', 'Texts and pictures.')],
    charged: both('按次或按 token 计费，见模型目录。', 'By the request or its tokens, as the catalogue says.'),
  },
  speech: {
    paths: { '/audio/speech': both('把文本读出来', 'Speech from text') },
    parameters: [
      MODEL,
      needed('string', 'input', '要读的文本。', 'The text to be spoken.'),
      needed('string', 'voice', '声音。', 'The voice.'),
      parameter('string', 'response_format', 'mp3、wav、pcm 等。', 'mp3, wav, pcm and others.'),
      parameter('string', 'stream_format', 'sse：以 event stream 返回。', 'sse: as a stream of events.'),
    ],
    charged: both(
      '按字符、时长或 token 计费，见模型目录。',
      'By characters, seconds or tokens, as the catalogue says.',
    ),
  },
  transcriptions: {
    paths: {
      '/audio/transcriptions': both('把录音写成文本', 'Text from speech'),
      '/audio/translations': both('把录音译成英文文本', 'English text from speech'),
    },
    parameters: [
      MODEL,
      FILE,
      parameter('string', 'response_format', 'json、text、srt、vtt 等。', 'json, text, srt, vtt and others.'),
      STREAM,
    ],
    charged: both(
      '按录音的时长或 token 计费，见模型目录。',
      'By the seconds of the recording or tokens, as the catalogue says.',
    ),
  },
}

interface OwnText {
  title: Words
  query: readonly ApiParameter[]
  body: readonly ApiParameter[]
}

const own = (
  zh: string,
  en: string,
  query: readonly ApiParameter[] = [],
  body: readonly ApiParameter[] = [],
): OwnText => ({
  title: both(zh, en),
  query,
  body,
})

/** The paths that no protocol has, by method and path. They are free. */
export const OWN_TEXTS: Readonly<Record<string, OwnText>> = {
  'GET /v1/models': own('密钥可用的模型，带价格与限制', 'The models of the key, with prices and limits'),
  'GET /v1/models/{model}': own('一个模型', 'One model'),
  'GET /v1beta/models': own('密钥可用的模型，generate 的格式', 'The models of the key, in the form of generate'),
  'GET /v1beta/models/{model}': own('一个模型，generate 的格式', 'One model, in the form of generate'),
  'POST /v1/estimate': own(
    '一个请求会预扣多少，最多花费多少；不会发送该请求',
    'What a request would hold and cost at most; it is not sent',
    [],
    [
      needed('string', 'path', '请求的路径。', 'The path of the request.'),
      needed('object', 'body', '请求的内容。', 'Its body.'),
    ],
  ),
  'GET /v1/generation': own('一个回答的用量与费用', 'What an answer used and cost', [
    needed(
      'string',
      'id',
      '请求编号（x-request-id）或回答的 id。',
      'The id of the request (x-request-id) or of the answer.',
    ),
  ]),
  'GET /v1/credits': own('账户或密钥的余额', 'What the account or the key has left'),
  'GET /v1/key': own('密钥的额度、用量与速率', 'The cap, the use and the rate of the key'),
  'GET /v1/auth/key': own('密钥的额度、用量与速率，另一个地址', 'The same at another address'),
  'GET /v1/dashboard/billing/subscription': own(
    '总额度，供聊天应用读取',
    'What may be spent in all, as chat applications read it',
  ),
  'GET /v1/dashboard/billing/usage': own('已用额度，供聊天应用读取', 'What was spent, as chat applications read it'),
  'GET /api/usage/token': own(
    '密钥的额度与用量，供聊天应用读取',
    'The cap and the use of the key, as chat applications read them',
  ),
}

interface HeaderText {
  name: string
  what: Words
}

export const ASKED_HEADERS: readonly HeaderText[] = [
  { name: 'authorization', what: both('Bearer 加密钥。', 'Bearer and the key.') },
  { name: 'x-api-key', what: both('密钥，用于 messages。', 'The key, on paths of messages.') },
  { name: 'x-goog-api-key', what: both('密钥，用于 /v1beta。', 'The key, on paths below /v1beta.') },
  {
    name: 'x-gateway-cost',
    what: both('stream：流的最后一个用量事件带费用。', 'stream: the last usage of a stream says what it cost.'),
  },
  {
    name: 'idempotency-key',
    what: both('传给上游，按账户区分。', 'Goes to the upstream, told apart by account.'),
  },
]

export const ANSWERED_HEADERS: readonly HeaderText[] = [
  {
    name: 'x-request-id',
    what: both('请求编号：用它查看收据。', 'The id of the request, by which its receipt is found.'),
  },
  {
    name: 'x-gateway-charge',
    what: both('回答的费用（人民币元），用于较短的 JSON 回答。', 'What a short JSON answer cost, in CNY.'),
  },
  { name: 'x-gateway-held', what: both('其他回答的预扣金额。', 'What is held for any other answer.') },
  {
    name: 'ratelimit',
    what: both('速率还剩多少（IETF 格式）。', 'What is left of the rate, in the form of the IETF.'),
  },
  { name: 'retry-after', what: both('多少秒后可以重试。', 'After how many seconds to try again.') },
  { name: 'x-should-retry', what: both('false：重试无用。', 'false: trying again cannot help.') },
]
