/** Stands in for `navigator.mediaDevices`: a list of devices that a test changes. */
export class FakeMediaDevices extends EventTarget {
  #devices: readonly Partial<MediaDeviceInfo>[];

  constructor(devices: readonly Partial<MediaDeviceInfo>[]) {
    super();
    this.#devices = devices;
  }

  enumerateDevices(): Promise<readonly Partial<MediaDeviceInfo>[]> {
    return Promise.resolve(this.#devices);
  }

  /** Devices were plugged in or out. */
  change(devices: readonly Partial<MediaDeviceInfo>[]): void {
    this.#devices = devices;
    this.dispatchEvent(new Event("devicechange"));
  }
}
