/** What an app would show. */
import { fromBase32, hotp, stepAt } from '../../../lib/operations/people/totp.ts'

export const codeOf = (secret: string, atMs: number): string => hotp(fromBase32(secret), stepAt(atMs))
