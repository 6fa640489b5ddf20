/**
 * The second factor: codes of an app, and recovery codes for the day on which the app is lost. A new factor counts after
 * one confirmed code. A code works once: its step is used up with it.
 */
import { z } from 'zod'
import type { Person } from '../../base/people.ts'
import { OperationError, both } from '../error.ts'
import { actBy, type By, type PeopleDeps, WRONG_CODE } from './deps.ts'
import { isRecoveryCode, newRecoveryCodes, recoveryHash, newTotpSecret, provisioningUri, stepOf } from './totp.ts'

export const codeForm = z.strictObject({ code: z.string().max(16) })

/** Uses up a code of the factor in force, or a recovery code. Throws OperationError `forbidden`. */
export async function useCode({ store, clock }: PeopleDeps, userId: number, code: string): Promise<void> {
  const credentials = await store.people.credentials.of(userId)
  if (isRecoveryCode(code)) {
    if (await store.people.credentials.useRecoveryCode(userId, recoveryHash(code))) return
    throw WRONG_CODE()
  }
  const secret = credentials?.totp ?? null
  const step = secret === null ? null : stepOf(secret, code.replace(/\s/g, ''), clock.now())
  if (step === null || !(await store.people.credentials.useStep(userId, step))) throw WRONG_CODE()
}

const ISSUER = 'Gateway'

/** The secret is shown to the person as text and as a picture; it counts after `confirmFactor`. */
export async function startFactor({ store }: PeopleDeps, person: Person) {
  const secret = newTotpSecret()
  await store.people.credentials.startTotp(person.id, secret)
  const uri = provisioningUri(secret, ISSUER, person.email)
  const { renderSVG } = await import('uqr')
  return { secret, uri, qr: renderSVG(uri, { border: 4, pixelSize: 4, ecc: 'M' }) }
}

/** Returns recovery codes, which are never shown again. Ends all sessions. */
export async function confirmFactor(
  { store, clock }: PeopleDeps,
  by: By,
  { code }: z.output<typeof codeForm>,
): Promise<{ recovery_codes: string[] }> {
  const userId = by.user!.id
  const secret = (await store.people.credentials.of(userId))?.totpNext ?? null
  if (secret === null)
    throw new OperationError('conflict', both('请先开始设置验证器', 'begin with a new secret for the app first'))
  const confirmedStep = stepOf(secret, code.replace(/\s/g, ''), clock.now())
  if (confirmedStep === null) throw WRONG_CODE()
  const codes = newRecoveryCodes()
  const recoveryCodes = codes.map(recoveryHash)
  await store.people.credentials.set(userId, { totp: { confirmedStep }, recoveryCodes }, actBy(by, 'factor.confirm'))
  return { recovery_codes: codes }
}

export const removeFactor = ({ store }: PeopleDeps, by: By): Promise<void> =>
  store.people.credentials.set(by.user!.id, { totp: null }, actBy(by, 'factor.remove'))

export async function renewRecoveryCodes({ store }: PeopleDeps, by: By): Promise<{ recovery_codes: string[] }> {
  const userId = by.user!.id
  if ((await store.people.users.byId(userId))?.secondFactor !== true)
    throw new OperationError('conflict', both('尚未启用两步验证', 'there is no second factor'))
  const codes = newRecoveryCodes()
  await store.people.credentials.set(
    userId,
    { recoveryCodes: codes.map(recoveryHash) },
    actBy(by, 'factor.recovery_codes'),
  )
  return { recovery_codes: codes }
}
