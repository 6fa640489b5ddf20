/** Recovery codes: ten of 128 bits each, shown once, kept as SHA-256, each good for one sign-in without the app. */
import { randomBytes } from 'node:crypto'
import { hashOf } from '../../terms/key-secret.ts'
import { toBase32 } from './totp.ts'

const COUNT = 10
const BYTES = 16
const GROUP = 5

/** In groups, so that people can copy them from paper. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: COUNT }, () =>
    (
      toBase32(randomBytes(BYTES))
        .toLowerCase()
        .match(new RegExp(`.{1,${GROUP}}`, 'g')) as string[]
    ).join('-'),
  )

const plain = (code: string): string => code.toLowerCase().replace(/[\s-]/g, '')

export const recoveryHash = (code: string): string => hashOf(plain(code))

/** Whether a text is meant to be a recovery code, and not one of an app. */
export const isRecoveryCode = (code: string): boolean => /^[a-z2-7]{26}$/.test(plain(code))
