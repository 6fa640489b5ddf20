/**
 * Bodies that are multipart forms, or, where a protocol has both, a form or JSON by their content type. A form goes upstream
 * byte for byte; only the value of its field `model` is replaced where the upstream has another name for the model.
 */
import type { BodyForm } from './body.ts'
import type { Span } from './draft.ts'
import { boundaryOf, isForm } from './forms/boundary.ts'
import { type FormLayout, FormScan } from './forms/form-scan.ts'

export const formBody = (layout: FormLayout): BodyForm => ({
  reads: type => boundaryOf(type) !== null,
  scan: type => new FormScan(layout, type),
  typeUpstream: type => type,
  mapModel: ({ modelSpan }, name) => ({ span: modelSpan as Span, bytes: Buffer.from(name) }),
})

export function formOr(form: BodyForm, other: BodyForm): BodyForm {
  const of = (type: string | undefined): BodyForm => (isForm(type) ? form : other)
  return {
    reads: type => of(type).reads(type),
    scan: type => of(type).scan(type),
    typeUpstream: type => of(type).typeUpstream(type),
    mapModel: (facts, name, type) => of(type).mapModel(facts, name, type),
  }
}
