/**
 * The request of an exchange in the form of a provider that does not speak the client's protocol to the letter (`OtherForm`). It is
 * written once for each form, when a candidate is looked at that is asked in it.
 */
import { fieldsOf, parse } from '../../protocols/json/text.ts'
import type { OtherForm } from '../../protocols/protocol.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { NotTranslated } from '../../translate/table.ts'
import type { Candidate } from '../../world/table.ts'
import type { Exchange, WrittenInForm } from './exchange.ts'
import { takeMemory } from './request.ts'
import type { Services } from './services.ts'

/** More than any provider takes in such a form, and parsed in a few milliseconds. */
const MOST_BYTES = 512 * 1024

type Asked = Pick<Candidate, 'form' | 'upstreamModel'>

const isWritten = (made: WrittenInForm | NotTranslated): made is WrittenInForm => made !== 'memory' && 'body' in made

function madeFor(x: Exchange, services: Services, form: OtherForm, model: string): WrittenInForm | NotTranslated {
  const forms = (x.otherForms ??= new Map())
  const name = `${form.path} ${model}`
  let made = forms.get(name)
  if (made === undefined) forms.set(name, (made = make(x, services, form, model)))
  return made
}

function make(x: Exchange, { buffered }: Services, form: OtherForm, model: string): WrittenInForm | NotTranslated {
  if (x.bodyBytes > MOST_BYTES) return { field: 'body' }
  const written = form.write(fieldsOf(parse(Buffer.concat(x.body).toString('latin1'))), model, x.form as Protocol)
  if (typeof written === 'string') return { field: written }
  const body = Buffer.from(JSON.stringify(written.body))
  const hasMemory = takeMemory(x, buffered, body.length, x.world.config.limits.bufferedBytes)
  return hasMemory ? { body, reader: written.reader } : 'memory'
}

export const canWrite = (x: Exchange, services: Services, { form, upstreamModel }: Asked): boolean =>
  form === null || isWritten(madeFor(x, services, form, upstreamModel))

/** The request for a candidate that was found to be fit when it was chosen; null = it is asked in the client's protocol. */
export function writtenFor(x: Exchange, services: Services, { form, upstreamModel }: Asked): WrittenInForm | null {
  if (form === null) return null
  const made = madeFor(x, services, form, upstreamModel)
  if (!isWritten(made)) throw new Error('a candidate was chosen that cannot be asked')
  return made
}

/** Why the first candidate that is asked in such a form cannot be; null = there is none. */
export function whyNotWritten({ otherForms }: Pick<Exchange, 'otherForms'>): NotTranslated | null {
  for (const made of otherForms?.values() ?? []) if (!isWritten(made)) return made
  return null
}
