/**
 * Bodies of JSON, which most protocols have. `place` is the protocol's layout: where in a body something stands that
 * matters.
 */
import type { BodyForm } from './body.ts'
import { mapModel } from './edit.ts'
import { JsonBodyScan } from './json-body-scan.ts'
import type { Place } from './places.ts'

export const jsonBody = (place: Place): BodyForm => ({
  reads: isUtf8,
  scan: () => new JsonBodyScan(place),
  typeUpstream: type => (JSON_TYPE.test(type) ? type : 'application/json'),
  mapModel,
})

/** JSON is UTF-8. A reader that is told of another charset would read another text than the gateway did. */
const isUtf8 = (type: string | undefined): boolean =>
  type === undefined || !/charset/i.test(type.replaceAll(/;\s*charset\s*=\s*("?)utf-?8\1\s*(?=;|$)/gi, ''))

/**
 * The content type goes upstream as a JSON type always: the gateway has read the body as JSON, and under another type (a
 * form, for example) the upstream could read something else in it. Clients that send another type mostly just have a wrong
 * default, so they are corrected and not refused.
 */
const JSON_TYPE = /^[ \t]*(?:application|text)\/(?:[\w.-]+\+)?json[ \t]*(?:;|$)/i
