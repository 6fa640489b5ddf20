/**
 * How the bodies of a protocol's requests are read. A body passes through a scan while it arrives and is never kept whole
 * for it: what the scan finds are its facts. A protocol with bodies of JSON takes `jsonBody`; another form (a multipart
 * form, say) brings its own.
 */
import { type Edit, mapModel } from './edits.ts'
import type { Facts, Span } from './facts.ts'
import { type FormLayout, FormScan } from './form-scan.ts'
import { JsonBodyScan } from './json-scan.ts'
import { boundaryOf, isForm } from './multipart.ts'
import type { Place } from './places.ts'

/** Reads one body. A scan takes a bounded amount of memory whatever a client sends, and never throws. */
export interface BodyScan {
  /** `text`: the same bytes as Latin-1, where the caller has it. */
  feed(chunk: Buffer, text?: string): void
  /** The same of bytes from the middle of a string, which do not end it. Behind the last of them no escape is open. */
  pass?(chunk: Buffer): void
  /** Returns null when the body is not of this form. */
  end(): Facts | null
}

export interface BodyForm {
  /** Tells whether the gateway reads a body of this content type as every other reader does. Other bodies are refused. */
  reads(contentType: string | undefined): boolean
  scan(contentType: string | undefined): BodyScan
  /** The content type that the upstream gets for the one that the client sent. */
  typeUpstream(contentType: string): string
  /** The edit that puts the upstream's name of the model into a body of the content type that the client sent. */
  mapModel(facts: Facts, upstreamName: string, contentType: string | undefined): Edit
}

/** Bodies of JSON, which most protocols have. `place`: the protocol's layout of what matters in them. */
export const jsonBody = (place: Place): BodyForm => ({
  reads: isUtf8,
  scan: () => new JsonBodyScan(place),
  typeUpstream: type => (type === PLAIN_JSON || JSON_TYPE.test(type) ? type : PLAIN_JSON),
  mapModel,
})

/** What nearly all clients send. */
const PLAIN_JSON = 'application/json'

/** JSON is UTF-8. A reader that is told of another charset would read another text than the gateway did. */
const isUtf8 = (type: string | undefined): boolean =>
  type === undefined ||
  type === PLAIN_JSON ||
  !/charset/i.test(type.replaceAll(/;\s*charset\s*=\s*("?)utf-?8\1\s*(?=;|$)/gi, ''))

/**
 * The content type goes upstream as a JSON type always: the gateway has read the body as JSON, and under another type (a
 * form, for example) the upstream could read something else in it. Clients that send another type mostly just have a wrong
 * default, so they are corrected and not refused.
 */
const JSON_TYPE = /^[ \t]*(?:application|text)\/(?:[\w.-]+\+)?json[ \t]*(?:;|$)/i

/**
 * Bodies that are multipart forms. A form goes upstream byte for byte; only the value of its field `model` is replaced where the
 * upstream has another name for the model.
 */
export const formBody = (layout: FormLayout): BodyForm => ({
  reads: type => boundaryOf(type) !== null,
  scan: type => new FormScan(layout, type),
  typeUpstream: type => type,
  mapModel: ({ modelSpan }, name) => ({ span: modelSpan as Span, bytes: Buffer.from(name) }),
})

/** Bodies that are a form or another one, by their content type. */
export function formOr(form: BodyForm, other: BodyForm): BodyForm {
  const of = (type: string | undefined): BodyForm => (isForm(type) ? form : other)
  return {
    reads: type => of(type).reads(type),
    scan: type => of(type).scan(type),
    typeUpstream: type => of(type).typeUpstream(type),
    mapModel: (facts, name, type) => of(type).mapModel(facts, name, type),
  }
}
