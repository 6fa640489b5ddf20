import t from 'tap'
import { bedrockError } from '../../../lib/upstream/aws/bedrock-errors.ts'

const CLOCK = 'the clock of this machine and that of AWS differ by more than AWS allows'
const SIGNATURE = 'AWS finds the signature wrong: the secret access key or the region is not right'

t.test('errors of Bedrock as errors of the messages protocol', async t => {
  type Row = [status: number, named: string | undefined, body: string, type: string, told: number, message?: string]
  const rows: Row[] = [
    [
      400,
      'ValidationException',
      '{"message":"max_tokens: Field required"}',
      'invalid_request_error',
      400,
      'max_tokens: Field required',
    ],
    [
      400,
      'ValidationException',
      '{"message":"Input is too long for requested model."}',
      'invalid_request_error',
      400,
      'prompt is too long: Input is too long for requested model.',
    ],
    [
      429,
      'ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/',
      '{"message":"Too many tokens"}',
      'rate_limit_error',
      429,
      'Too many tokens',
    ],
    [429, 'ModelNotReadyException', '{}', 'rate_limit_error', 429, 'Bedrock answered 429 (ModelNotReady).'],
    [404, 'ResourceNotFoundException', '{"message":"no such model"}', 'not_found_error', 404],
    [408, 'ModelTimeoutException', '{"message":"too long"}', 'timeout_error', 408],
    [424, 'ModelErrorException', '{"originalStatusCode":500,"originalMessage":"boom"}', 'api_error', 500, 'boom'],
    [424, undefined, '', 'api_error', 500, 'Bedrock answered 424.'],
    [400, 'ServiceQuotaExceededException', '{"message":"quota"}', 'rate_limit_error', 429],
    [500, 'InternalServerException', '{"Message":"oh"}', 'api_error', 500, 'oh'],
    [503, 'ServiceUnavailableException', '{"message":"busy"}', 'overloaded_error', 503],
    [503, undefined, '<html>unavailable</html>', 'overloaded_error', 503, '<html>unavailable</html>'],
    [
      403,
      undefined,
      '{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}',
      'permission_error',
      403,
      'no',
    ],
    [413, undefined, '{"message":"too large"}', 'request_too_large', 413],
    [418, undefined, '[1]', 'invalid_request_error', 418, '[1]'],
    [502, undefined, '{"message":"x"}', 'api_error', 502],
  ]
  for (const [status, named, body, type, told, message] of rows) {
    const found = bedrockError('claude-on-bedrock', status, named, Buffer.from(body))
    const { error, ...top } = JSON.parse(found.body) as { error: { type: string; message: string } }
    t.same([found.status, top, error.type], [told, { type: 'error' }, type], `${status} ${named} ${body}`)
    if (message !== undefined) t.equal(error.message, message)
  }
  const long = bedrockError(
    'claude-on-bedrock',
    400,
    undefined,
    Buffer.from(JSON.stringify({ message: 'x'.repeat(100_000) })),
  )
  t.ok(long.body.length < 5000, 'a long message is cut')
})

t.test('why a credential is refused', async t => {
  const rows: [named: string, message: string, cause: string | null][] = [
    ['InvalidSignatureException', 'Signature expired: 20261122T100000Z is now earlier than 20261122T101500Z', CLOCK],
    [
      'InvalidSignatureException',
      'Signature not yet current: 20261122T100000Z is still later than 20261122T091500Z',
      CLOCK,
    ],
    ['RequestTimeTooSkewed', 'The difference between the request time and the server time is too large.', CLOCK],
    [
      'InvalidSignatureException',
      'The request signature we calculated does not match the signature you provided.',
      SIGNATURE,
    ],
    ['ExpiredTokenException', 'The security token included in the request is expired', 'the session token has expired'],
    [
      'UnrecognizedClientException',
      'The security token included in the request is invalid.',
      'AWS does not know the access key, or the session token does not belong to it',
    ],
    ['AccessDeniedException', 'User is not authorized', 'the credential may not use the model'],
    ['ValidationException', 'Malformed input request', null],
  ]
  for (const [named, message, cause] of rows)
    t.equal(
      bedrockError('claude-on-bedrock', 403, named, Buffer.from(JSON.stringify({ message }))).cause,
      cause,
      `${named} ${message}`,
    )
})

t.test(
  'in the protocols of OpenAI: refusals of AWS in their form, and what has that form already as it is',
  async t => {
    const refused = bedrockError('openai-on-aws', 403, 'ExpiredTokenException', Buffer.from('{"message":"expired"}'))
    t.same(JSON.parse(refused.body), {
      error: { message: 'expired', type: 'permission_error', param: null, code: null },
    })
    t.same([refused.status, refused.cause], [403, 'the session token has expired'])
    const own = '{"error": {"message":"Unknown parameter","type":"invalid_request_error","code":"unknown_parameter"}}'
    for (const form of ['openai-on-aws', 'messages-on-aws'] as const)
      t.same(bedrockError(form, 400, undefined, Buffer.from(own)), { status: 400, body: own, cause: null }, form)
  },
)
