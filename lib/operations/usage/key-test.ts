/** Tries out one of an account's keys: whether a request with it from the caller's address would be answered. */
import { z } from 'zod'
import type { Language } from '../../base/people.ts'
import * as kind from '../../config/scalars.ts'
import { PROTOCOLS, type Protocol } from '../../terms/records.ts'
import type { OwnKeys } from '../accounts/own-keys.ts'
import { reasonWords } from './words.ts'

export const testForm = z.strictObject({ model: kind.name, protocol: kind.oneOf(...PROTOCOLS) })

/** A request that a serving process is asked to try out. */
export interface KeyTrial {
  keyHash: string
  address: string
  model: string
  protocol: Protocol
  english: boolean
}
/** Finds the stage that would refuse it; null = none would. */
export type DryRun = (trial: KeyTrial) => Promise<{
  stage: string | null
  /** The error that a client would be answered with, by its name. */
  reason: string | null
  status: number | null
  message: string | null
}>

export async function testKey(
  keys: OwnKeys,
  id: string,
  dryRun: DryRun,
  { model, protocol }: z.output<typeof testForm>,
  { ip, language }: { ip: string; language: Language },
) {
  const { hash } = await keys.find(id)
  const trial = { keyHash: hash, address: ip, model, protocol, english: language === 'en' }
  const { stage, reason, status, message } = await dryRun(trial)
  /** The reason in both languages: the texts that clients read are promised to them, most in Chinese alone. */
  const why = reason === null ? null : reasonWords(reason).why
  return { ok: stage === null, stage, status, message, why, address: ip }
}
