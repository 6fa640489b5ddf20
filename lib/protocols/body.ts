/**
 * How the bodies of a protocol's requests are read. A body passes through a scan while it arrives and is never kept whole
 * for it: what the scan finds are its facts. A protocol with bodies of JSON takes `jsonBody`; another form (a multipart
 * form, say) brings its own.
 */
import type { Edit } from './edit.ts'
import type { Facts } from './facts.ts'

/** Reads one body. A scan takes a bounded amount of memory whatever a client sends, and never throws. */
export interface BodyScan {
  feed(chunk: Buffer): void
  /** Returns null when the body is not of this form. */
  end(): Facts | null
}

export interface BodyForm {
  /** Whether the gateway reads a body of this content type as every other reader does. Other bodies are refused. */
  reads(contentType: string | undefined): boolean
  scan(contentType: string | undefined): BodyScan
  /** The content type that the upstream gets for the one that the client sent. */
  typeUpstream(contentType: string): string
  /** The edit that puts the upstream's name of the model into a body of the content type that the client sent. */
  mapModel(facts: Facts, upstreamName: string, contentType: string | undefined): Edit
}
