import t from 'tap'
import type { FailureKind } from '../../lib/translate/events.ts'
import { blamesRequest, readFailure, readFirstFailure } from '../../lib/translate/failure.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'

const openai = (message: string, type: string | null, code: string | null = null): object => ({
  error: { message, type, code, param: null },
})
const anthropic = (type: string, message: string): object => ({ type: 'error', error: { type, message } })
const google = (code: number, status: string, message: string): object => [{ error: { code, status, message } }]

type Told = [status: number, type: string, code?: string | null]

const TABLE: [what: string, status: number, body: object | string, messages: Told, chat: Told, text: RegExp][] = [
  [
    'a wrong request',
    400,
    openai('bad', 'invalid_request_error'),
    [400, 'invalid_request_error'],
    [400, 'invalid_request_error', null],
    /^bad$/,
  ],
  [
    'another one',
    422,
    { detail: 'bad' },
    [422, 'invalid_request_error'],
    [422, 'invalid_request_error', null],
    /^bad$/,
  ],
  [
    'no such model',
    404,
    openai('no model', null),
    [404, 'not_found_error'],
    [404, 'invalid_request_error', 'model_not_found'],
    /^no model$/,
  ],
  [
    'too large',
    413,
    '<html>too large</html>',
    [413, 'request_too_large'],
    [413, 'invalid_request_error', null],
    /too large/,
  ],
  [
    'too many',
    429,
    anthropic('rate_limit_error', 'slow'),
    [429, 'rate_limit_error'],
    [429, 'rate_limit_error', 'rate_limit_exceeded'],
    /^slow$/,
  ],
  [
    'no more money',
    429,
    openai('pay', 'insufficient_quota', 'insufficient_quota'),
    [429, 'rate_limit_error'],
    [429, 'insufficient_quota', 'insufficient_quota'],
    /^pay$/,
  ],
  [
    'overloaded',
    529,
    anthropic('overloaded_error', 'busy'),
    [529, 'overloaded_error'],
    [503, 'server_error', 'server_is_overloaded'],
    /^busy$/,
  ],
  ['a fault', 500, openai('oops', 'server_error'), [500, 'api_error'], [500, 'server_error', null], /^oops$/],
  ['in time', 504, '', [504, 'timeout_error'], [504, 'timeout', null], /answered 504/],
  [
    'an error in an array',
    503,
    google(503, 'UNAVAILABLE', 'down'),
    [503, 'api_error'],
    [503, 'server_error', null],
    /^down$/,
  ],
  [
    'a prompt that is too long (chat)',
    400,
    openai("This model's maximum context length is 8192 tokens.", 'invalid_request_error', 'context_length_exceeded'),
    [400, 'invalid_request_error'],
    [400, 'invalid_request_error', 'context_length_exceeded'],
    /maximum context length/,
  ],
  [
    'a prompt that is too long (messages)',
    400,
    anthropic('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'),
    [400, 'invalid_request_error'],
    [400, 'invalid_request_error', 'context_length_exceeded'],
    /prompt is too long: 9/,
  ],
]

/** The words of generate-content. */
const STATUSES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  404: 'NOT_FOUND',
  413: 'INVALID_ARGUMENT',
  422: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

for (const [what, status, body, forMessages, forChat, text] of TABLE)
  t.test(what, async t => {
    const failure = readFailure(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
    const [inMessages, inChat] = [messages.writeError(failure), chat.writeError(failure)]
    const m = JSON.parse(inMessages.body)
    const c = JSON.parse(inChat.body)
    t.same([inMessages.status, m.error.type], forMessages)
    t.equal(m.type, 'error')
    t.same(responses.writeError(failure), inChat, 'the same in responses')
    t.same([inChat.status, c.error.type, c.error.code], forChat)
    const inGenerate = generate.writeError(failure)
    const g = JSON.parse(inGenerate.body)
    t.same([inGenerate.status, g.error.code], [inChat.status, inChat.status])
    t.equal(g.error.status, STATUSES[inChat.status])
    t.match(g.error.message, text)
    t.match(c.error.message, text)
    t.match(m.error.message, text)
    if (failure.kind === 'context') t.match(m.error.message, /prompt is too long/, 'which clients look for')
  })

/** Errors behind a 200, in an event or as all that came: how each provider names those for which the request is to blame, and others. */
const NAMED: [by: string, error: object, kind: FailureKind, isOfRequest: boolean][] = [
  ['OpenAI', { code: 'invalid_image_url' }, 'invalid', true],
  ['OpenAI', { code: 'image_content_policy_violation' }, 'invalid', true],
  ['OpenAI', { code: 'failed_to_download_image' }, 'invalid', true],
  ['OpenAI', { code: 'bio_policy' }, 'invalid', true],
  ['OpenAI', { code: 'model_not_found', type: 'invalid_request_error' }, 'not_found', true],
  ['OpenAI', { code: null, type: 'invalid_request_error' }, 'invalid', true],
  ['OpenAI', { code: 'vector_store_timeout' }, 'server', false],
  ['OpenAI', { code: 'server_error' }, 'server', false],
  ['OpenAI', { code: 'invalid_api_key' }, 'server', false],
  ['Azure', { code: 'content_filter', type: null }, 'invalid', true],
  ['Moonshot', { type: 'content_filter' }, 'invalid', true],
  ['Moonshot', { type: 'resource_not_found_error' }, 'not_found', true],
  ['Moonshot', { type: 'rate_limit_reached_error' }, 'rate', false],
  ['Moonshot', { type: 'exceeded_current_quota_error' }, 'quota', false],
  ['Moonshot', { type: 'engine_overloaded_error' }, 'overloaded', false],
  ['Anthropic', { type: 'billing_error' }, 'server', false],
  ['Google', { status: 'OUT_OF_RANGE' }, 'invalid', true],
  ['Google', { status: 'FAILED_PRECONDITION' }, 'server', false],
  ['Google', { status: 'PERMISSION_DENIED' }, 'server', false],
  ['Alibaba Cloud', { code: 'DataInspectionFailed' }, 'invalid', true],
  ['Alibaba Cloud', { code: 'InvalidParameter.DataInspection' }, 'invalid', true],
  ['Alibaba Cloud', { code: 'BadRequest.TooLarge' }, 'invalid', true],
  ['Alibaba Cloud', { code: 'Throttling.RateQuota' }, 'rate', false],
  ['Alibaba Cloud', { code: 'InvalidApiKey' }, 'server', false],
  ['Alibaba Cloud', { code: 'Arrearage' }, 'server', false],
  ['Volcengine', { code: 'SensitiveContentDetected.Violence', type: 'BadRequest' }, 'invalid', true],
  ['Volcengine', { code: 'OutputTextSensitiveContentDetected' }, 'invalid', true],
  ['Volcengine', { code: 'MissingParameter.messages' }, 'invalid', true],
  ['Volcengine', { code: 'RateLimitExceeded.EndpointTPMExceeded', type: 'TooManyRequests' }, 'rate', false],
  ['Volcengine', { code: 'QuotaExceeded' }, 'quota', false],
  ['Z.AI', { code: '1301' }, 'invalid', true],
  ['Z.AI', { code: '1214' }, 'invalid', true],
  ['Z.AI', { code: '1211' }, 'not_found', true],
  ['Z.AI', { code: '1302' }, 'rate', false],
  ['Z.AI', { code: '1113' }, 'server', false],
  ['nobody', { code: '__proto__' }, 'server', false],
  ['nobody', { code: 'toString.x', type: 'constructor' }, 'server', false],
  ['nobody', { code: '.', status: '' }, 'server', false],
]

t.test('errors without a status of HTTP, by their words', async t => {
  for (const [by, error, kind, isOfRequest] of NAMED) {
    const what = `${by}: ${JSON.stringify(error)}`
    const document = JSON.stringify({ error: { message: 'm', ...error } })
    for (const text of [document, `data: ${document}\n\n`]) {
      const failure = readFirstFailure(Buffer.from(text))
      t.equal(failure.kind, kind, what)
      t.equal(blamesRequest(failure), isOfRequest, what)
    }
  }
})

t.test('a long text is cut, and an odd one is escaped', async t => {
  const { body } = chat.writeError(readFailure(400, Buffer.from('é"\u2028'.repeat(9000))))
  t.ok(body.length < 40_000)
  t.match(body, /^[\x20-\x7e]+$/)
})
