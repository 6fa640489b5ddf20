/** What the recipe "Add an operation" adds to a file of `lib/operations`: an operation, its form and its answer. */
import { z } from 'zod'
import type { OperationDeps } from '../../../lib/operations/deps.ts'
import { wholeCount } from '../../../lib/operations/fields.ts'
import { accountNamed } from '../../../lib/operations/lookups.ts'
import type { Account } from '../../../lib/terms/records.ts'

export const lettersQuery = z.strictObject({ times: z.coerce.number().int().min(1).max(9).prefault(1) })
export const lettersAnswer = z.strictObject({ letters: wholeCount }).meta({ id: 'Letters' })
export type LettersAnswer = z.output<typeof lettersAnswer>

/** Counts the letters of an account's name. */
export const countLetters = async ({ name }: Pick<Account, 'name'>, times: number): Promise<LettersAnswer> => ({
  letters: name.length * times,
})

/** The same of an account by its name. */
export const lettersOf = async ({ store }: Pick<OperationDeps, 'store'>, name: string, times: number) =>
  countLetters(await accountNamed(store, name), times)
