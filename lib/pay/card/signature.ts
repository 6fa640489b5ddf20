/**
 * The signature of Stripe's callbacks: `t=SECONDS,v1=HEX[,v1=HEX…]`, where `v1` is the HMAC-SHA256 of `SECONDS.BODY`. While
 * a secret is being changed there is one for the old and one for the new secret, and any of them will do.
 *
 * It is checked here and not by the official client, because that one takes times of the future, and signs the body after
 * decoding it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { NotVerified, type RawCallback } from '../method.ts'

const TOLERANCE_S = 300
const LONGEST_HEADER = 4_096
const MOST_SIGNATURES = 16

/** Throws NotVerified. */
export function checkSignature({ headers, body }: RawCallback, secret: string, nowMs: number): void {
  const { time, signatures } = parse(headers['stripe-signature'])
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  if (!signatures.some(signature => timingSafeEqual(signature, expected))) throw new NotVerified('signature')
  if (Math.abs(nowMs / 1_000 - Number(time)) > TOLERANCE_S) throw new NotVerified('age')
}

function parse(header: string | string[] | undefined): { time: string; signatures: Buffer[] } {
  if (typeof header !== 'string' || header.length > LONGEST_HEADER) throw new NotVerified('form')
  const values = (name: string) =>
    header
      .split(',')
      .filter(item => item.startsWith(`${name}=`))
      .map(item => item.slice(name.length + 1))
  const [time, ...otherTimes] = values('t')
  if (time === undefined || otherTimes.length > 0 || !/^\d{1,12}$/.test(time)) throw new NotVerified('form')
  const signatures = values('v1').filter(value => /^[0-9a-f]{64}$/.test(value))
  if (signatures.length === 0 || signatures.length > MOST_SIGNATURES) throw new NotVerified('form')
  return { time, signatures: signatures.map(hex => Buffer.from(hex, 'hex')) }
}
