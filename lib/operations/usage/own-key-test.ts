/** Tries out one of an account's keys: whether a request with it from the caller's address would be answered. */
import type { Language } from '../../base/people.ts'
import type { Protocol } from '../../terms/records.ts'
import type { TestForm } from '../accounts/key-forms.ts'
import type { Keeper } from '../accounts/key-rows.ts'
import { reasonOf } from './words.ts'
import { type KeysDeps, keyOf } from '../accounts/own-keys.ts'

/** What a serving process is asked to try out, and what it found: the stage that would refuse, or null. */
export interface Trial {
  keyHash: string
  address: string
  model: string
  protocol: Protocol
  english: boolean
}
export type DryRun = (trial: Trial) => Promise<{
  stage: string | null
  /** The error that a client would be answered with, by its name. */
  reason: string | null
  status: number | null
  message: string | null
}>

export async function testOwnKey(
  deps: Pick<KeysDeps, 'store'> & { dryRun: DryRun },
  keeper: Keeper,
  id: string,
  { model, protocol }: TestForm,
  { ip, language }: { ip: string; language: Language },
) {
  const { hash } = await keyOf(deps, keeper, id)
  const english = language === 'en'
  const trial = { keyHash: hash, address: ip, model, protocol, english }
  const { stage, reason, status, message } = await deps.dryRun(trial)
  /** What it means, because the texts that clients read are promised to them, most in Chinese alone. */
  const why = reason === null ? null : reasonOf(reason).why
  return { ok: stage === null, stage, status, message, why, address: ip }
}
