/** Bench of lib/base/errors.ts: renders every row of the error table. */
import { deepEqual } from 'node:assert/strict'
import type * as ErrorsModule from '../../lib/base/errors.ts'
import type { Bench } from './bench.ts'

const ID = '01k2v3w4x5n0de0000001'
const ARGS = ['gamma-"quoted"', '12.50']

export const bench: Bench = async lib => {
  const { ERRORS, errorText, renderError } = await lib<typeof ErrorsModule>('base/errors.ts')
  const names = Object.keys(ERRORS) as ErrorsModule.ErrorName[]
  return [
    {
      name: 'every row',
      per: names.length,
      check() {
        for (const name of names) {
          const { error } = JSON.parse(renderError(name, ARGS, ID, false, true)) as { error: object }
          const row: ErrorsModule.ErrorRow = ERRORS[name]
          const message = `${errorText(name, ARGS, false)} (request id: ${ID})`
          const param = typeof row.param === 'function' ? row.param(...ARGS) : row.param
          deepEqual(error, { code: '', message, type: row.type, ...(param === undefined ? {} : { param }) })
        }
      },
      run() {
        let length = 0
        for (const name of names) length += renderError(name, ARGS, ID, false, true).length
        return length
      },
    },
  ]
}
