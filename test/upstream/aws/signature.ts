/**
 * Verifies Signature Version 4 as AWS does, by code of its own, over what has really been received. It answers what AWS would:
 * the name and the text of an exception, or null when the signature is right.
 */
import { createHash, createHmac } from 'node:crypto'

export interface Received {
  method: string
  /** With its query. */
  path: string
  headers: Readonly<Record<string, string | undefined>>
  body: Buffer
}

export interface Known {
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string | null
  region: string
  service: string
}

export interface Refused {
  name: string
  message: string
}

const MOST_SKEW_MS = 5 * 60 * 1000
const FORM =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/

const sha256 = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex')
const hmac = (key: Buffer | string, data: string): Buffer => createHmac('sha256', key).update(data).digest()
const refused = (name: string, message: string): Refused => ({ name, message })

export function verify(received: Received, known: Known, nowMs: number): Refused | null {
  const { headers } = received
  const found = FORM.exec(headers['authorization'] ?? '')
  if (found === null) return refused('MissingAuthenticationTokenException', 'Missing Authentication Token')
  const [, id, day, region, service, signed, signature] = found as unknown as string[]
  if (id !== known.accessKeyId || (headers['x-amz-security-token'] ?? null) !== known.sessionToken)
    return refused('UnrecognizedClientException', 'The security token included in the request is invalid.')
  const time = headers['x-amz-date'] ?? ''
  const skew = skewOf(time, nowMs)
  if (skew !== null) return skew
  const names = (signed as string).split(';')
  const mustBeSigned = Object.keys(headers).filter(name => name === 'host' || name.startsWith('x-amz-'))
  if (mustBeSigned.some(name => !names.includes(name)))
    return refused('IncompleteSignatureException', `not all of ${mustBeSigned} are signed`)
  if (region !== known.region || service !== known.service || !time.startsWith(day as string))
    return refused('InvalidSignatureException', 'Credential should be scoped to a valid region.')
  const scope = [day, region, service, 'aws4_request'].join('/')
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical(received, names))].join('\n')
  const parts = [day, region, service, 'aws4_request'] as string[]
  const key = parts.reduce<Buffer | string>((before, part) => hmac(before, part), `AWS4${known.secretAccessKey}`)
  if (hmac(key, toSign).toString('hex') === signature) return null
  return refused(
    'InvalidSignatureException',
    'The request signature we calculated does not match the signature you provided.',
  )
}

function skewOf(time: string, nowMs: number): Refused | null {
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (at < nowMs - MOST_SKEW_MS)
    return refused(
      'InvalidSignatureException',
      `Signature expired: ${time} is now earlier than ${nowMs - MOST_SKEW_MS}`,
    )
  if (at <= nowMs + MOST_SKEW_MS) return null
  return refused('InvalidSignatureException', `Signature not yet current: ${time} is still later than ${nowMs}`)
}

function canonical({ method, path, headers, body }: Received, names: readonly string[]): string {
  const [before, query = ''] = path.split('?', 2) as [string, string?]
  const lines = names.map(name => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}\n`)
  return [method, encodedAgain(before), sortedQuery(query), lines.join(''), names.join(';'), sha256(body)].join('\n')
}

/** What stands in the path, each byte of it that is neither unreserved nor a slash: a percent sign, too. */
const encodedAgain = (path: string): string =>
  [...Buffer.from(path)]
    .map(byte => String.fromCharCode(byte))
    .map(char =>
      /[A-Za-z0-9\-._~/]/.test(char) ? char : `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('')

const sortedQuery = (query: string): string =>
  query
    .split('&')
    .filter(part => part !== '')
    .map(part => (part.includes('=') ? part : `${part}=`))
    .sort()
    .join('&')
