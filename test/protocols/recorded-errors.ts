/**
 * Errors as providers answer them in the place of an answer, at least one for each kind of which one is known, with the words that a client
 * is to be told. `recorded` and `documented`: as of answers (`recorded.ts`).
 */
import type { KindName } from '../../lib/protocols/words/kinds.ts'
import type { FailureKind } from '../../lib/translate/events.ts'

export interface RecordedError {
  kind: KindName
  of: 'recorded' | 'documented'
  source: string
  status: number
  body: unknown
  /** What clients are told: what it is, and in which words. */
  told: FailureKind
  text: string
}

type Row = [
  kind: KindName,
  of: RecordedError['of'],
  source: string,
  status: number,
  body: unknown,
  told: FailureKind,
  text: string,
]

const BY_OTHERS = 'a capture of others, in the tests of their clients'
const OPENAI = 'https://platform.openai.com/docs/guides/error-codes'
const GOOGLE = 'https://ai.google.dev/gemini-api/docs/troubleshooting'
const AWS = 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html'
const NO_DEPLOYMENT = 'The API deployment for this resource does not exist.'
const NO_FUNCTION = "Function '23d4f03a-b8a6-4adb-a183-7daa083a09cc': Not found for account 'x'"
const NO_MODEL = 'The model `qwen3-32b` does not exist or you do not have access to it.'
const NO_ROUTE = "model `google.gemma-4-31b` isn't supported on this route"
const MANY = 'Requests per minute limit exceeded - too many requests sent.'
const QUOTA = 'You exceeded your current quota, please check your plan and billing details.'
const XAI = 'Incorrect API key provided: xa***en. You can obtain an API key from https://console.x.ai.'
const ARK = 'The model or endpoint doubao-seed-1-6 does not exist or you do not have access to it.'

const ROWS: Row[] = [
  [
    'anthropic',
    'documented',
    'https://platform.claude.com/docs/en/api/errors',
    404,
    {
      type: 'error',
      error: { type: 'not_found_error', message: 'The requested resource could not be found.' },
      request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy',
    },
    'not_found',
    'The requested resource could not be found.',
  ],
  [
    'openai',
    'documented',
    OPENAI,
    429,
    { error: { message: QUOTA, type: 'insufficient_quota', param: null, code: 'insufficient_quota' } },
    'quota',
    QUOTA,
  ],
  [
    'gemini',
    'documented',
    GOOGLE,
    429,
    { error: { code: 429, message: 'Resource has been exhausted (e.g. check quota).', status: 'RESOURCE_EXHAUSTED' } },
    'rate',
    'Resource has been exhausted (e.g. check quota).',
  ],
  [
    'vertex',
    'documented',
    GOOGLE,
    400,
    [{ error: { code: 400, message: 'Request contains an invalid argument.', status: 'INVALID_ARGUMENT' } }],
    'invalid',
    'Request contains an invalid argument.',
  ],
  ...(['azure', 'azure-deployments'] as const).map(
    (kind): Row => [
      kind,
      'recorded',
      BY_OTHERS,
      404,
      { error: { code: 'DeploymentNotFound', message: NO_DEPLOYMENT } },
      'not_found',
      NO_DEPLOYMENT,
    ],
  ),
  ...(['bedrock', 'bedrock-api-key'] as const).map(
    (kind): Row => [
      kind,
      'documented',
      AWS,
      429,
      { message: 'Too many requests, please wait before trying again.' },
      'rate',
      'Too many requests, please wait before trying again.',
    ],
  ),
  [
    'bedrock-mantle',
    'recorded',
    'https://github.com/vercel/ai/blob/main/packages/amazon-bedrock/src/mantle/__fixtures__/issue-21372-gemma-4-live.json',
    400,
    { error: { code: 'validation_error', message: NO_ROUTE, param: null, type: 'invalid_request_error' } },
    'invalid',
    NO_ROUTE,
  ],
  [
    'cerebras',
    'recorded',
    BY_OTHERS,
    429,
    { message: MANY, type: 'too_many_requests_error', param: 'quota', code: 'request_quota_exceeded' },
    'rate',
    MANY,
  ],
  [
    'dashscope',
    'recorded',
    BY_OTHERS,
    400,
    { error: { code: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' } },
    'invalid',
    'Access denied, please make sure your account is in good standing.',
  ],
  [
    'deepinfra',
    'recorded',
    BY_OTHERS,
    404,
    { detail: { error: 'Model is not available' } },
    'not_found',
    'Model is not available',
  ],
  [
    'deepseek',
    'recorded',
    BY_OTHERS,
    402,
    { error: { message: 'Insufficient Balance', type: 'unknown_error', param: null, code: 'invalid_request_error' } },
    'invalid',
    'Insufficient Balance',
  ],
  [
    'fireworks',
    'recorded',
    BY_OTHERS,
    400,
    {
      error: { object: 'error', type: 'invalid_request_error', message: 'logprobs must be between 0 and 5: 20' },
    },
    'invalid',
    'logprobs must be between 0 and 5: 20',
  ],
  [
    'groq',
    'recorded',
    BY_OTHERS,
    404,
    { error: { message: NO_MODEL, type: 'invalid_request_error', code: 'model_not_found' } },
    'not_found',
    NO_MODEL,
  ],
  [
    'minimax',
    'recorded',
    BY_OTHERS,
    429,
    { base_resp: { status_code: 1004, status_msg: 'rate limit' } },
    'rate',
    'rate limit',
  ],
  [
    'mistral',
    'recorded',
    BY_OTHERS,
    400,
    { object: 'error', message: 'Invalid model: no-such-model', type: 'invalid_model', param: null, code: '1500' },
    'invalid',
    'Invalid model: no-such-model',
  ],
  [
    'mistral',
    'recorded',
    BY_OTHERS,
    422,
    {
      object: 'error',
      message: { detail: [{ loc: ['body', 'temperature'], msg: 'Input should be a valid number', type: 'float' }] },
      type: 'invalid_request_error',
    },
    'invalid',
    'Input should be a valid number',
  ],
  [
    'moonshot',
    'recorded',
    BY_OTHERS,
    401,
    { error: { message: 'Invalid Authentication', type: 'invalid_authentication_error' } },
    'invalid',
    'Invalid Authentication',
  ],
  [
    'nvidia',
    'recorded',
    BY_OTHERS,
    404,
    { status: 404, title: 'Not Found', detail: NO_FUNCTION },
    'not_found',
    NO_FUNCTION,
  ],
  [
    'openrouter',
    'documented',
    'https://openrouter.ai/docs/api-reference/errors',
    402,
    { error: { code: 402, message: 'Insufficient credits', metadata: {} } },
    'invalid',
    'Insufficient credits',
  ],
  [
    'qianfan',
    'recorded',
    BY_OTHERS,
    404,
    {
      error: {
        code: 'invalid_model',
        message: 'The model does not exist or you do not have access to it.',
        type: 'invalid_request_error',
      },
      id: 'as-bkv66krfus',
    },
    'not_found',
    'The model does not exist or you do not have access to it.',
  ],
  [
    'siliconflow',
    'recorded',
    BY_OTHERS,
    400,
    { code: 20_012, message: 'Model does not exist. Please check it carefully.', data: null },
    'invalid',
    'Model does not exist. Please check it carefully.',
  ],
  [
    'volcengine',
    'recorded',
    BY_OTHERS,
    404,
    { error: { code: 'InvalidEndpointOrModel.NotFound', message: ARK, param: '', type: 'NotFound' } },
    'not_found',
    ARK,
  ],
  ['xai', 'recorded', BY_OTHERS, 400, { code: 'Client specified an invalid argument', error: XAI }, 'invalid', XAI],
  [
    'zhipu',
    'recorded',
    BY_OTHERS,
    429,
    { error: { code: '1113', message: '余额不足或无可用资源包,请充值。' } },
    'rate',
    '余额不足或无可用资源包,请充值。',
  ],
]

export const RECORDED_ERRORS: readonly RecordedError[] = ROWS.map(([kind, of, source, status, body, told, text]) => ({
  kind,
  of,
  source,
  status,
  body,
  told,
  text,
}))
