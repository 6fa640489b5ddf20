/**
 * How messages to and from Alipay are signed: RSA-SHA256 (called RSA2) over a text that both sides put together. Alipay has
 * two protocols. The older one, of forms, is used for pages and notifications; version 3, of JSON, for everything between
 * servers.
 */
import { invariant } from '../../base/assert.ts'
import { certificatesIn, isSignedByRsa } from '../../config/certificates.ts'
import type { AlipayConfig } from '../../config/pay-schema.ts'
import { NotVerified, type Validity } from '../method.ts'
import { type X509Certificate, createHash, randomUUID, sign, verify } from 'node:crypto'

const signed = (text: string, privateKey: string): string =>
  sign('sha256', Buffer.from(text, 'utf8'), privateKey).toString('base64')

/** Anything wrong with the signature, also in how it is written, makes it a wrong one. */
function isSigned(text: string | Buffer, signature: string, publicKey: string): boolean {
  const bytes = Buffer.from(signature, 'base64')
  // The decoder skips what is no base64, so that other texts would pass for the same signature.
  if (bytes.length === 0 || bytes.toString('base64') !== signature) return false
  return verify('sha256', typeof text === 'string' ? Buffer.from(text, 'utf8') : text, publicKey, bytes)
}

const byName = (a: [string, string], b: [string, string]): number => (a[0] < b[0] ? -1 : 1)

/** The text of a form: `name=value` of all fields, sorted by name, values as they are. */
const formText = (fields: readonly [string, string][]): string =>
  [...fields]
    .sort(byName)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')

/** A form with its signature, as a query. `sign_type` is one of the fields that are signed. */
export function signedForm(fields: Record<string, string>, { privateKey, serials }: AlipayKeys): URLSearchParams {
  const named = serials === null ? {} : { app_cert_sn: serials.app, alipay_root_cert_sn: serials.root }
  const all = Object.entries({ ...fields, ...named })
  return new URLSearchParams([...all, ['sign', signed(formText(all), privateKey)]])
}

/**
 * Nothing in the text that is signed tells the separator of two fields from the same character in a value. So whoever has a
 * notification could write two of its fields as one, and hide the second: that of a refund would be that of a payment.
 */
const HIDDEN = /&(app_id|notify_type|out_biz_no|out_trade_no|refund_fee|seller_id|total_amount|trade_no|trade_status)=/

/** Many times what Alipay sends. Fields are sorted before it is known who sent them. */
const MOST_FIELDS = 1_000

/**
 * The fields of a notification whose signature is Alipay's. The algorithm is ours to choose, not the sender's: `sign_type`
 * must be RSA2. Fields that we do not know are signed too. Not all notifications of certificate mode name the certificate; one that
 * is named must be ours to verify with. Throws NotVerified.
 */
export function verifiedForm(
  body: Buffer,
  { publicKey, serials }: Omit<AlipayKeys, 'privateKey'>,
): Map<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(body.toString('utf8'))) {
    // two readers could take the first two differently
    if (fields.has(name) || HIDDEN.test(value) || fields.size === MOST_FIELDS) throw new NotVerified('form')
    fields.set(name, value)
  }
  const signature = fields.get('sign')
  if (signature === undefined || fields.get('sign_type') !== 'RSA2') throw new NotVerified('form')
  const named = fields.get('alipay_cert_sn')
  if (serials !== null && named !== undefined && named !== serials.alipay) throw new NotVerified('key')
  const rest = [...fields].filter(([name]) => name !== 'sign' && name !== 'sign_type')
  if (!isSigned(formText(rest), signature, publicKey)) throw new NotVerified('signature')
  return fields
}

/** The headers of a request of version 3. `path`: with its query. */
export function signedHeaders(
  { appId, keys: { privateKey, serials } }: { appId: string; keys: AlipayKeys },
  method: 'GET' | 'POST',
  path: string,
  body: string,
  nowMs: number,
): Record<string, string> {
  const named = serials === null ? '' : `app_cert_sn=${serials.app},`
  const auth = `app_id=${appId},${named}nonce=${randomUUID()},timestamp=${nowMs}`
  const text = `${auth}\n${method}\n${path}\n${body}\n`
  return {
    authorization: `ALIPAY-SHA256withRSA ${auth},sign=${signed(text, privateKey)}`,
    'alipay-request-id': randomUUID(),
    accept: 'application/json',
    ...(serials === null ? {} : { 'alipay-root-cert-sn': serials.root }),
    ...(body === '' ? {} : { 'content-type': 'application/json' }),
  }
}

type Headers = Record<string, string | string[] | undefined>
const one = (headers: Headers, name: string): string => {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** The serial number of the certificate by which an answer says that it is signed; '' = it does not say. */
export const serialNamed = (headers: Headers): string => one(headers, 'alipay-sn')

/** Whether an answer of version 3 is Alipay's. */
export function isAnswer(headers: Headers, body: Buffer, publicKey: string): boolean {
  const head = `${one(headers, 'alipay-timestamp')}\n${one(headers, 'alipay-nonce')}\n`
  return isSigned(
    Buffer.concat([Buffer.from(head), body, Buffer.from('\n')]),
    one(headers, 'alipay-signature'),
    publicKey,
  )
}

export interface AlipayKeys {
  /** Ours, as PEM. */
  privateKey: string
  publicKey: string
  /** null = certificate mode is off. */
  serials: Serials | null
}

/** Our certificate, Alipay's, and Alipay's roots. */
interface Serials {
  app: string
  alipay: string
  root: string
}

type Configured = Pick<
  AlipayConfig,
  'private_key' | 'alipay_public_key' | 'app_cert' | 'alipay_cert' | 'alipay_root_cert'
>

/** `validity`: when our certificate and Alipay's are both valid; null = certificate mode is off. */
export function alipayKeys(config: Configured): { keys: AlipayKeys; validity: Validity | null } {
  const { private_key: privateKey, alipay_public_key: publicKey } = config
  if (publicKey !== undefined) return { keys: { privateKey, publicKey, serials: null }, validity: null }
  const [app] = certificatesIn(config.app_cert ?? '')
  const [alipay] = certificatesIn(config.alipay_cert ?? '')
  const roots = certificatesIn(config.alipay_root_cert ?? '')
  invariant(app !== undefined && alipay !== undefined, 'the config has Alipay’s public key or certificates')
  return {
    keys: {
      privateKey,
      publicKey: alipay.publicKey.export({ type: 'spki', format: 'pem' }) as string,
      serials: { app: serialOf(app), alipay: serialOf(alipay), root: rootSerialOf(roots) },
    },
    validity: {
      fromMs: Math.max(app.validFromDate.getTime(), alipay.validFromDate.getTime()),
      untilMs: Math.min(app.validToDate.getTime(), alipay.validToDate.getTime()),
    },
  }
}

/** MD5 of the issuer's name, its last part first, and the certificate's number in decimal. It names, and protects nothing. */
export function serialOf({ issuer, serialNumber }: X509Certificate): string {
  const name = issuer.split('\n').reverse().join(',').replace(/\\(.)/g, '$1')
  return createHash('md5')
    .update(`${name}${BigInt(`0x${serialNumber}`)}`)
    .digest('hex')
}

/** Roots with other algorithms than RSA have no part in it. */
export const rootSerialOf = (roots: readonly X509Certificate[]): string =>
  roots.filter(isSignedByRsa).map(serialOf).join('_')
