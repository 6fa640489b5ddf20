/** What a scan of a body keeps of one object or form while it reads it. Frames are used again. */
import type { Frame, Place } from './places.ts'
import type { ListElement } from './words/server-tools.ts'
import type { PictureKind } from './words/usage.ts'

export class OpenFrame implements Frame {
  owner: Frame | null = null
  place: Place | null = null
  isArray = false
  start = 0
  inList = false
  lastTool: ListElement | null = null
  toolStays = false
  size: string | null = null
  isLocal = false
  hasMembers = false
  hasOthers = false
  type = ''
  mime = ''
  dataLength = -1
  head = ''
  urls = 0
  uses: number | null = null
  maximum: number | null = null
  hasId = false
  hasRole = false
  picture: PictureKind | null = null
  seen = 0
  seenMore = 0

  reset(place: Place, isArray: boolean, owner: Frame | null, start = 0, inList = false): void {
    this.owner = owner
    this.place = place
    this.isArray = isArray
    this.start = start
    this.inList = inList
    this.lastTool = null
    this.toolStays = this.isLocal = this.hasMembers = this.hasOthers = false
    this.size = null
    this.type = this.mime = this.head = ''
    this.dataLength = -1
    this.urls = this.seen = this.seenMore = 0
    this.uses = this.maximum = null
    this.hasId = this.hasRole = false
    this.picture = null
  }
}
