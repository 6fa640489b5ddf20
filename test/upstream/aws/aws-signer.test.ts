import { createHash } from 'node:crypto'
import t from 'tap'
import { library, signatureHeaders, type ToSign } from '../../../lib/upstream/aws/aws-signer.ts'
import { seeded } from '../../support/random.ts'
import { type Known, type Received, verify } from './signature.ts'

const NOW = Date.UTC(2015, 7, 30, 12, 36, 0)
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const known: Known = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: SECRET,
  sessionToken: null,
  region: 'us-east-1',
  service: 'service',
}
const SCOPE = 'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1'

t.test('the verifier of the tests agrees with the examples that AWS publishes', async t => {
  const rows: [name: string, received: Partial<Received>, service: string, signed: string, signature: string][] = [
    [
      'get-vanilla',
      {},
      'service',
      'host;x-amz-date',
      '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    ],
    [
      'post-vanilla',
      { method: 'POST' },
      'service',
      'host;x-amz-date',
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    ],
    [
      'get-vanilla-query-order-key-case',
      { path: '/?Param2=value2&Param1=value1' },
      'service',
      'host;x-amz-date',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    [
      'IAM: ListUsers',
      {
        path: '/?Action=ListUsers&Version=2010-05-08',
        headers: { host: 'iam.amazonaws.com', 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      },
      'iam',
      'content-type;host;x-amz-date',
      '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    ],
  ]
  for (const [name, received, service, signed, signature] of rows) {
    const headers = { host: 'example.amazonaws.com', ...received.headers, 'x-amz-date': '20150830T123600Z' }
    const authorization = `${SCOPE}/${service}/aws4_request, SignedHeaders=${signed}, Signature=${signature}`
    const whole = {
      method: 'GET',
      path: '/',
      body: Buffer.alloc(0),
      ...received,
      headers: { ...headers, authorization },
    }
    t.equal(verify(whole, { ...known, service }, NOW), null, name)
    const other = verify({ ...whole, body: Buffer.from('x') }, { ...known, service }, NOW)
    t.equal(other?.name, 'InvalidSignatureException', `${name}, with another body`)
  }
})

/** A request with its body, of which only the digest is signed. */
type Sent = Omit<ToSign, 'digest'> & { body: readonly Buffer[] }
function signed({ body, ...request }: Sent, keys: Omit<Known, 'service'>, nowMs: number): string[] {
  const digest = createHash('sha256')
  for (const part of body) digest.update(part)
  return signatureHeaders(library(), { ...request, digest: digest.digest('hex') }, keys, nowMs)
}

const asRecord = (headers: readonly string[]): Record<string, string> =>
  Object.fromEntries(headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] as string]] : [])))

t.test('the example of AWS in which the digest of the body is a header', async t => {
  const keys = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: SECRET.replace('+', '/'),
    sessionToken: null,
    region: 'us-east-1',
  }
  const at = Date.UTC(2013, 4, 24)
  const request = {
    service: 's3',
    method: 'GET',
    path: '/?lifecycle',
    headers: { host: 'examplebucket.s3.amazonaws.com' },
    body: [],
  }
  const { authorization } = asRecord(signed(request, keys, at))
  const signature = 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'
  t.match(authorization, `SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${signature}`)
})

const BEDROCK: Known = { ...known, service: 'bedrock', region: 'eu-west-1' }

const received = (request: Sent, keys: Known): Received => ({
  method: request.method,
  path: request.path,
  headers: {
    ...request.headers,
    accept: 'application/json',
    ...asRecord(signed(request, keys, NOW)),
  },
  body: Buffer.concat(request.body),
})

const MODELS = [
  'anthropic.claude-3-5-sonnet-20241022-v2:0',
  'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
  'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc123xyz',
  "odd (name)!*'",
]
const headersTo = (host: string) => ({ host, 'content-type': 'application/json' })
const request = (more: Partial<Sent> = {}): Sent => ({
  service: 'bedrock',
  method: 'POST',
  path: `/model/${encodeURIComponent(MODELS[0] as string)}/invoke`,
  headers: headersTo('bedrock-runtime.eu-west-1.amazonaws.com'),
  body: [Buffer.from('{"max_tokens":1}')],
  ...more,
})

t.test('what is signed is accepted, whatever the path, the body and the credential', async t => {
  const random = seeded(t)
  for (const model of MODELS) {
    for (const sessionToken of [null, 'IQoJb3JpZ2luX2VjEXAMPLE//////////wEaCXVz+==']) {
      const body = Array.from({ length: random.int(0, 3) }, () => Buffer.alloc(random.int(0, 2000), 'ab'))
      const path = `/model/${encodeURIComponent(model)}/${random.pick(['invoke', 'invoke-with-response-stream'])}`
      const host = random.pick(['127.0.0.1:4000', 'bedrock-runtime.eu-west-1.amazonaws.com'])
      const keys = { ...BEDROCK, sessionToken }
      t.equal(
        verify(received(request({ path, headers: headersTo(host), body }), keys), keys, NOW),
        null,
        `${model} ${sessionToken}`,
      )
    }
  }
})

t.test('what differs from what was signed is refused', async t => {
  const good = received(request(), BEDROCK)
  const rows: [what: string, received: Received, known: Known, nowMs: number, refused: RegExp][] = [
    ['another body', { ...good, body: Buffer.from('{"max_tokens":2}') }, BEDROCK, NOW, /does not match/],
    ['another path', { ...good, path: good.path.replace('%3A', ':') }, BEDROCK, NOW, /does not match/],
    ['another secret', good, { ...BEDROCK, secretAccessKey: 'x' }, NOW, /does not match/],
    ['another host', { ...good, headers: { ...good.headers, host: 'other' } }, BEDROCK, NOW, /does not match/],
    ['another region', good, { ...BEDROCK, region: 'us-east-1' }, NOW, /valid region/],
    ['another key', good, { ...BEDROCK, accessKeyId: 'AKIDOTHER' }, NOW, /security token/],
    ['no session token', good, { ...BEDROCK, sessionToken: 'x' }, NOW, /security token/],
    ['a clock that is behind', good, BEDROCK, NOW + 301_000, /Signature expired/],
    ['a clock that is ahead', good, BEDROCK, NOW - 301_000, /Signature not yet current/],
  ]
  for (const [what, request, known, nowMs, message] of rows)
    t.match(verify(request, known, nowMs)?.message, message, what)
})
