/** Fields that the answers of several calls have, as schemas. */
import { z } from 'zod'

/** CNY with six places. */
export const money = z.string().regex(/^-?\d+\.\d{6}$/)
export const time = z.iso.datetime({ precision: 3 })
export const count = z.int().min(0)
export const ms = z.int().min(0)
/** A sentence in each of the two languages. */
export const words = z.strictObject({ zh: z.string(), en: z.string() })
export const id = z.string().regex(/^[0-9a-z]{1,64}$/)
export const share = z.number().min(0).max(1).nullable()
export const keyLabel = z.strictObject({ id, name: z.string(), deleted: z.boolean() }).meta({ id: 'KeyLabel' })

/** Tokens by class, and pictures. */
export const counts = {
  input: count,
  cache_read: count,
  cache_write_5m: count,
  cache_write_1h: count,
  output: count,
  images: count,
}
